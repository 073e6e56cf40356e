"""Decorators of kernels: how each is compiled, and when a cached one is stale."""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import importlib
import inspect
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.options import DefaultOptions
from numba.np import linalg

Function = TypeVar("Function", bound=Callable[..., object])
_PLAIN = {"nogil": True, "no_cfunc_wrapper": True}  # C code never calls a kernel
_OPTIONS = _PLAIN | {"fastmath": {"contract"}}
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_SHARED = Path(__file__).parent
_NOTED = "argmetric-compiles"  # a file in the cache: it was said that this takes long
_NOT_KEPT = (
    "argmetric: compiling, which every run will do, as no folder can be written to: "
    "set NUMBA_CACHE_DIR to one"
)
_PATIENCE = 2.0  # seconds of compiling after which a line says why it takes so long


def kernel(function: Function) -> Function:
    """Compile serially, without the GIL, with a disk cache where one can be written.

    A kernel may call kernels of its own folder and of this one: a change in any of
    these files makes cached code old. No explicit signatures (frames hand out read-only
    arrays), no prange (threads stand outside). Of fastmath only the fusing of a product
    and a sum into one rounding: it never reorders.
    """
    return _compile(function, _OPTIONS)


def borrowing(function: Function) -> Function:
    """Compile a kernel that creates no array, without counting references to arrays.

    Counting is atomic; without it a short loop body takes a fifth less time.
    """
    return _compile(function, _OPTIONS | _UNCOUNTED)


def inner(function: Function) -> Function:
    """Compile a kernel that only other kernels call, without counting references.

    It gets no wrapper for calls from Python, which may take longer to compile than the
    function itself.
    """
    return _compile(function, _OPTIONS | _UNCOUNTED | {"no_cpython_wrapper": True})


def kernel_without_fma(function: Function) -> Function:
    """Compile a kernel that rounds every product, bit for bit as numpy does."""
    return _compile(function, _PLAIN)


def inline_kernel(function: Function) -> Function:
    """Copy a small function into the kernels that call it: a call counts references."""
    return cast(Function, numba.njit(inline="always", **_OPTIONS)(function))


def _compile(function: Function, options: dict[str, Any]) -> Function:
    """Compile a function, from the cache where numba can write one."""
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
        cached = _stamp(dispatcher, Path(inspect.getfile(function)).parent)
    except RuntimeError:  # numba finds no folder that it could write its cache to
        cached = False
    if not cached:
        dispatcher = numba.njit(**options)(function)
    _compile_once_per_type(dispatcher)
    return cast(Function, dispatcher)


def _compile_once_per_type(dispatcher: Any) -> None:
    """Compile a kernel once per type: literal numbers count as their type."""
    template = dispatcher.get_call_template

    def of_types(args: Any, kws: Any) -> Any:
        """Return the template for the types of the arguments, not their values."""
        return template(tuple(map(numba.types.unliteral, args)), kws)

    dispatcher.get_call_template = of_types


def _stamp(dispatcher: Any, folder: Path) -> bool:
    """Tie cached code to all files that it depends on; return False if that fails.

    numba ties it to the file of the kernel alone, so that a callee that changed in
    another file would give the old numbers. The attribute is private to numba: where a
    version lacks it, the kernel is compiled anew in every process.
    """
    try:
        file = dispatcher._cache._cache_file
        file._source_stamp = (file._source_stamp, _text_hash(folder))
    except AttributeError:
        return False
    return True


@cache
def _text_hash(folder: Path) -> str:
    """Return a hash of the kernel files of a folder and of the shared ones."""
    files = sorted({*folder.glob("*.py"), *_SHARED.glob("*.py")})
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _folder_of_cache(dispatcher: Any) -> Path | None:
    """Return the folder that all kernels of a cache share; None without a cache."""
    path = dispatcher._cache.cache_path
    if path is None:
        return None
    # Beside the sources, or below one folder for all libraries
    beside = Path(path).is_relative_to(_SHARED.parents[1])
    return _SHARED / "__pycache__" if beside else Path(path).parent


class _Notice(event.Listener):  # type: ignore[misc]
    """Says on stderr that kernels are being compiled, if that takes long.

    It is said once for each cache, in which a file of no content notes it, and when the
    process ends, how many seconds it took.

    Kernels compile those that they call: the time is that of the outermost ones.
    Meanwhile Python collects no garbage: it finds next to none among the many objects
    of a compiler, and takes a tenth of the time to look.
    """

    def __init__(self) -> None:
        self.spent, self.depth, self.began, self.given = 0.0, 0, 0.0, False
        self.collected, self.outermost = False, None

    def on_start(self, event: Any) -> None:
        """Note the start of a compilation; pause garbage collection in the first."""
        if not _is_ours(event):
            return
        if self.depth == 0:
            self.began, self.outermost = time.perf_counter(), event.data["dispatcher"]
            self.collected = gc.isenabled()
            gc.disable()
        self.depth += 1
        self._look(time.perf_counter() - self.began)

    def on_end(self, event: object) -> None:
        """Add up the time of a compilation; resume garbage collection."""
        if not _is_ours(event):
            return
        self.depth -= 1
        now = time.perf_counter() - self.began
        self._look(now)
        if self.depth == 0:
            self.spent += now
            if self.collected:
                gc.enable()

    def _look(self, now: float) -> None:
        """Print once that kernels are being compiled, if that takes long."""
        if self.given or self.spent + now <= _PATIENCE:
            return
        self.given = True
        # Functions that kernels call have no cache of their own
        folder = _folder_of_cache(self.outermost)
        if folder is None:
            print(_NOT_KEPT, file=sys.stderr)
            return
        noted = folder / _NOTED
        if noted.exists():
            return
        with contextlib.suppress(OSError):
            noted.touch()
        print("argmetric: compiling for this machine, the first time", file=sys.stderr)
        if not hasattr(sys, "ps1"):  # of a prompt, which ends when nobody asks any more
            atexit.register(self._say_seconds)

    def _say_seconds(self) -> None:
        """Print how long the compilation took."""
        with contextlib.suppress(OSError, ValueError):
            print(
                f"argmetric: compiled in {self.spent:.0f} s, and kept in "
                "the cache: later runs start at once",
                file=sys.stderr,
            )


def _is_ours(event: Any) -> bool:
    """Return whether an event compiles a kernel of this package."""
    function = event.data["dispatcher"].py_func
    return str(function.__module__).startswith("argmetric.")


NOTICE = _Notice()
event.register("numba:compile", NOTICE)

# numba loads scipy.linalg, which takes 0.15 s, to see that scipy is there: it is, as we
# depend on it. Whoever compiles a product of matrices still has it loaded by numba.
_ensure_blas, linalg.ensure_blas = linalg.ensure_blas, lambda: None
try:
    importlib.import_module("numba.np.arraymath")
finally:
    linalg.ensure_blas = _ensure_blas
