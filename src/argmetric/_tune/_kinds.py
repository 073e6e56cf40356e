"""Which class a saved rule belongs to."""

from __future__ import annotations

from typing import Any

from argmetric._tune._files import check_header
from argmetric._tune._multiclass_rule import MultiClassRule
from argmetric._tune._multilabel_rule import MultiLabelRule
from argmetric._tune._rule import Rule

_KINDS: dict[str, Any] = {
    "rule": Rule,
    "multilabel": MultiLabelRule,
    "multiclass": MultiClassRule,
}


def rule_from_dict(values: dict[str, Any]) -> Rule | MultiLabelRule | MultiClassRule:
    """A rule of any kind from its plain form."""
    kind = check_header(values)
    if kind not in _KINDS:
        raise ValueError(f"no rule of the kind {kind!r}; known are {', '.join(_KINDS)}")
    try:
        return _KINDS[kind]._from_plain(values)  # type: ignore[no-any-return]
    except KeyError as error:
        raise ValueError(f"a saved rule lacks {error}") from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"a saved rule is damaged: {error}") from None
