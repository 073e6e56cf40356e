"""What all public signatures have in common."""

import importlib
import inspect
import pydoc
import re
import textwrap

MODULES = ("classes", "metrics", "scale", "search", "sequence", "sets", "stream")
MODULES = (*MODULES, "tensors", "train")
NEED_TORCH = ("BestAchievable", "ExpectedMetricLoss", "SoftMetricLoss")


def public_things():
    """Names and objects of all public functions and classes."""
    for name in ("argmetric", *(f"argmetric.{part}" for part in MODULES)):
        module = importlib.import_module(name)
        for public in sorted(set(module.__all__) - {*NEED_TORCH}):
            thing = getattr(module, public)
            if not inspect.ismodule(thing):
                yield f"{name}.{public}", thing


def public_callables():
    """Names and objects of all public functions, classes and methods."""
    for name, thing in public_things():
        yield name, thing
        if inspect.isclass(thing):
            for member in sorted(dir(thing)):
                found = inspect.getattr_static(thing, member)
                if isinstance(found, classmethod | staticmethod):
                    found = found.__func__
                found = found.fget if isinstance(found, property) else found
                ours = getattr(found, "__module__", None) or ""
                if member.startswith("_") or not ours.startswith("argmetric"):
                    continue
                if inspect.isfunction(found):
                    yield f"{name}.{member}", found


def test_a_random_state_has_one_default():
    """Without asking, the same rows give the same answer."""
    found = {}
    for name, thing in public_callables():
        try:
            known = inspect.signature(thing).parameters
        except (TypeError, ValueError):
            continue
        if "random_state" in known:
            found[name] = known["random_state"].default
    assert len(found) > 15
    others = {name: default for name, default in found.items() if default != 0}
    assert not others


SCREENS = 100  # lines: two screens of a terminal
VERBS = ("decide", "forecast", "evaluate", "tune", "calibrate", "monitor", "report")


def test_the_help_of_a_verb_fits_in_two_screens():
    """What is longer belongs to a page of the documentation."""
    long = {}
    for name, thing in public_things():
        if inspect.isclass(thing):  # methods have their own help
            text = inspect.getdoc(thing) or ""
        else:
            text = pydoc.plain(pydoc.render_doc(thing))
        lines = [textwrap.wrap(line, 80) or [""] for line in text.splitlines()]
        if sum(map(len, lines)) > SCREENS:
            long[name] = sum(map(len, lines))
    assert not long
    assert {f"argmetric.{verb}" for verb in VERBS} <= {
        name for name, _ in public_things()
    }


# Where a public signature may say Any, and why
ANY_ALLOWED = {
    r"search\.": "tasks, sentences and documents are of the user's own types",
    r"sets\.SetDecision labels": "in the form of the samples",
    r"sequence\.": "sentences, spans and models are of the user's own types",
    r".* (options|params)$": "handed on as they are",
    r".* (values|nearest|counterexample|rule)$": "values of JSON",
    r".*(to_dict|values|from_dict) (return|values)$": "values of JSON",
    r".*to_onnx return$": "a model of onnx, which need not be installed",
    r"(train\.)?MetricObjective\.eval ": "data sets of LightGBM and XGBoost",
    r"(classes\.|scale\.)?(Decision|Class\w+|Scaled\w+|MultiLabelRule|MultiClassRule|"
    r"Files|Report) ": "made by the verbs, not by users",
    r"scale\.(open return|Lazy\w+ table)": "tables of engines that need not be there",
    r"stream\.(Online|River)Classifier\.\w+_ return": "one property made for all",
}


def test_no_public_signature_says_any():
    """Editors complete what has a type; arrays of any dtype are arrays."""
    found = []
    for name, thing in public_callables():
        function = inspect.unwrap(thing.__init__ if inspect.isclass(thing) else thing)
        for parameter, said in getattr(function, "__annotations__", {}).items():
            text = re.sub(
                r"NDArray\[Any\]|AnyArray|Callable\[\.\.\., Any\]", "", str(said)
            )
            if re.search(r"\bAny\b", text):
                found.append(f"{name.removeprefix('argmetric.')} {parameter}")
    wrong = [
        one for one in found if not any(re.match(rule, one) for rule in ANY_ALLOWED)
    ]
    assert not wrong
    idle = [rule for rule in ANY_ALLOWED if not any(re.match(rule, x) for x in found)]
    assert not idle
