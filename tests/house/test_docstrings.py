"""Docstrings of public callables are whole, as numpydoc checks them.

Every public function, class and method documents its parameters (PR01, PR02) and what
it returns (RT01, RT03), in sentences (SS03, GL08). Functions and classes also have an
example, which the doctests run. Exempt are

- PR01 of dataclasses that document all fields under Attributes: results, which verbs
  create and users read;
- `fields` of results: the protocol of `Result`, which says what it returns; each result
  lists what its `to_dict` has.
"""

import dataclasses
import importlib
import inspect
import runpy
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.validate import Validator, validate

ROOT = Path(__file__).resolve().parents[2]
API = runpy.run_path(str(ROOT / "docs/list_api.py"))
CODES = {"PR01", "PR02", "RT01", "RT03", "SS03", "GL08"}


class Documented(Validator):
    """A docstring in which Attributes of a dataclass document its parameters."""

    def __init__(self, obj_name):
        super().__init__(get_doc_object(Validator._load_obj(obj_name)))

    @property
    def doc_all_parameters(self):
        documented = super().doc_all_parameters
        if not dataclasses.is_dataclass(self.obj):
            return documented
        attributes = NumpyDocString(self.clean_doc)["Attributes"]
        names = {name for one in attributes for name in one.name.split(", ")}
        fields = [name for name in self.signature_parameters if name in names]
        return {**documented, **dict.fromkeys(fields, ("", ""))}


def faults(path, thing):
    """Return the codes that a docstring fails; NOEX for a missing example."""
    codes = {code for code, _ in validate(path, Documented)["errors"]} & CODES
    in_module = path.rpartition(".")[2] == thing.__name__ == thing.__qualname__
    if in_module and ">>>" not in (inspect.getdoc(thing) or ""):
        codes.add("NOEX")
    return sorted(codes)


def public_callables():
    """Return public functions, classes and their methods by one path of each."""
    things = {}
    for name in API["MODULES"]:
        path = "argmetric" if name == "argmetric" else f"argmetric.{name}"
        module = importlib.import_module(path)
        for public in sorted(set(module.__all__) - set(API["NEED_TORCH"])):
            thing = getattr(module, public)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                things.setdefault(thing, f"{path}.{public}")
            members = set(dir(thing) if inspect.isclass(thing) else ()) - {"fields"}
            for member in sorted(one for one in members if not one.startswith("_")):
                method = inspect.getattr_static(thing, member)
                method = getattr(method, "__func__", method)
                if inspect.isfunction(method):
                    things.setdefault(method, f"{path}.{public}.{member}")
    return {path: thing for thing, path in things.items() if is_ours(thing)}


def is_ours(thing):
    return thing.__module__.startswith("argmetric.")


def test_docstrings_are_whole():
    found = {path: faults(path, thing) for path, thing in public_callables().items()}
    assert {path: codes for path, codes in found.items() if codes} == {}


PARAMETERS = "Parameters\n----------\np : float\n    A number.\n\n"
RETURNS = "Returns\n-------\nfloat\n    The number.\n\n"
EXAMPLE = "Examples\n--------\n>>> 1\n1\n"


@pytest.mark.parametrize(
    ("docstring", "codes"),
    [
        (None, ["GL08", "NOEX"]),
        ("Return p.", ["NOEX", "PR01", "RT01"]),
        (f"Return p.\n\n{PARAMETERS}{RETURNS}", ["NOEX"]),
        (f"Return p.\n\n{PARAMETERS}{RETURNS}{EXAMPLE}", []),
    ],
)
def test_faults_are_seen(docstring, codes, monkeypatch):
    def identity(p):
        return p

    identity.__doc__, identity.__qualname__ = docstring, "identity"
    monkeypatch.setattr("argmetric.identity", identity, raising=False)
    assert faults("argmetric.identity", identity) == codes
