"""Rules as the source of a Python function, which needs no package."""

from __future__ import annotations

import math

from argmetric._ground.odds import NEAREST
from argmetric._verbs.tune._export import (
    LEAST_EXPONENT,
    STEP,
    SUMS,
    UNIT,
    ClassLogits,
    PortableRule,
    RawCut,
)

_CUT = """\
def {name}(p):
    '''{title}'''
    if p is None or not {low} <= (p := float(p)) <= {high}:
        return None
    return {positive} if p {operator} {cut} else {negative}
"""
_COLUMNS = """\
def {name}(p):
    '''{title}'''
    if len(p) != {count}:
        raise ValueError("{count} scores are needed, one for each column")
"""
_CLASSES = """\
    if any(x is None or not {low} <= float(x) <= {high} for x in p):
        return None
    p = [min(max(float(x), 0.0), 1.0) for x in p]
{body}
    return {labels}[value.index(max(value))]
"""
_WEIGHTED = """\
    value = [x * w + b for x, w, b in zip(p, {weights}, {offsets})]"""
_SUM = """\
    from math import exp, floor, log
    total = sum(p)
    if not {low} <= total <= {high}:
        return None
    x = [log(max(one / total, {nearest})) for one in p]
"""
_TEMPERATURE = """\
    x = [one / {temperature} for one in x]
    top = max(x)
    total = top + log(sum(exp(one - top) for one in x))
    x = [one - total for one in x]
"""
_LOGITS = """\
    x = [max(one, {floor}) for one in x]
    value = [
        sum(a * b for a, b in zip(x, column)) + bias + {lump} * (one <= {floor})
        for one, column, bias in zip(x, {columns}, {biases})
    ]
"""
_OFFSETS = """\
    top = max(value)
    part = [exp(max(y - top, {least})) for y in value]
    total = sum(a / w for a, w in zip(part, {weights}))
    value = [a + b * total for a, b in zip(part, {offsets})]
"""
_STEPS = """\
    value = [floor(y / {step} + 0.5) for y in value]"""


def python_text(rule: PortableRule, name: str) -> str:
    rule.labels_of("a function", int, float, str, bool)
    told = f"{rule.title}: {rule.promise}" if rule.promise else rule.title
    title = told.replace("\\", "/").replace("'", "`")
    if rule.single:
        return _python_cut(rule, rule.cuts[0], name, title).rstrip()
    head = _COLUMNS.format(name=name, title=title, count=len(rule.columns))
    if rule.weights:
        if rule.logits is None:
            body = _WEIGHTED.format(weights=rule.weights, offsets=rule.offsets)
        else:
            body = _of_logits(rule, rule.logits)
        low, high = UNIT
        return head + _CLASSES.format(body=body, labels=rule.labels, low=low, high=high)
    parts = [
        _python_cut(rule, cut, f"_{name}_{i}", f"Column {i}")
        for i, cut in enumerate(rule.cuts)
    ]
    calls = ", ".join(f"_{name}_{i}(p[{i}])" for i in range(len(parts)))
    return "\n\n".join([*parts, f"{head}    return [{calls}]\n"])


def _of_logits(rule: PortableRule, logits: ClassLogits) -> str:
    low, high = SUMS
    body = _SUM.format(low=low, high=high, nearest=NEAREST)
    if logits.temperature != 1.0:
        body += _TEMPERATURE.format(temperature=logits.temperature)
    body += _LOGITS.format(
        floor=_float_text(-math.inf if logits.floor is None else logits.floor),
        lump=logits.lump,
        columns=tuple(map(tuple, logits.matrix.T.tolist())),
        biases=tuple(logits.biases.tolist()),
    )
    if any(rule.offsets):
        body += _OFFSETS.format(
            least=LEAST_EXPONENT, weights=rule.weights, offsets=rule.offsets
        )
    return body + _STEPS.format(step=STEP)


def _python_cut(rule: PortableRule, cut: RawCut, name: str, title: str) -> str:
    negative, positive = map(repr, rule.labels)
    return _CUT.format(
        name=name,
        title=title,
        low=_float_text(cut.low),
        high=_float_text(cut.high),
        operator=cut.operator,
        cut=_float_text(cut.cut),
        negative=negative,
        positive=positive,
    )


def _float_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'
