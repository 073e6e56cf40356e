"""Valid calls with one or two arguments that nobody should pass, and what may happen.

A call is drawn from a seed and a number, so that one that fails can be made again::

    python tests/fuzz.py SEED NUMBER          # that call, with its traceback
    python tests/fuzz.py SEED FIRST LAST      # each that fails of a slice
"""

import contextlib
import copy
import dataclasses
import errno
import functools
import math
import os
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from odd_values import FORMS, SCALARS, VALUES
from valid_calls import CALLS as PLAIN
from valid_classes import CALLS as CLASSES
from valid_compare import OF_COMPARE
from valid_methods import METHODS
from valid_monitor import OF_MONITOR
from valid_scale import SCALED
from valid_structures import STRUCTURES

CALLS = PLAIN | CLASSES | STRUCTURES | SCALED | METHODS
CALLS |= OF_MONITOR | OF_COMPARE
PLACES = [(name, one) for name, call in CALLS.items() for one in call.arguments]
TOO_LONG = 60  # seconds; nothing here takes one
TOO_MUCH = 4 << 30  # bytes of memory besides what is taken already
# nan where there are too few rows, or no labels
NOT_KNOWN = {"optimism", "mean", "intercept", "p_value", "actual", "actual_interval"}
_ODD_PATHS = errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EACCES


@dataclasses.dataclass(frozen=True)
class OddCall:
    """A call by name, and what is passed instead of its arguments, in words."""

    name: str
    other: dict[str, Any]
    words: dict[str, str]

    def __str__(self):
        passed = ", ".join(f"{name} = {word}" for name, word in self.words.items())
        return f"{self.name} with {passed}"


def odd_call(seed, number):
    """The call of this number: all arguments of all calls in turn, oddly."""
    rng = np.random.default_rng([seed, number])
    name, first = PLACES[(number + 7919 * seed) % len(PLACES)]
    arguments = [first]
    if rng.random() < 0.2:
        arguments.append(str(rng.choice(list(CALLS[name].arguments))))
    other, words = {}, {}
    for one in arguments:
        other[one], words[one] = _odd(CALLS[name].arguments[one], rng)
    return OddCall(name, other, words)


def _odd(valid, rng):
    """Something else in the place of a valid value, and its name."""
    way = rng.random()
    if isinstance(valid, list | tuple | np.ndarray) and len(valid):
        if way < 0.35:
            word = str(rng.choice(list(FORMS)))
            with contextlib.suppress(Exception), np.errstate(all="ignore"):
                return FORMS[word](np.array(valid)), f"itself as {word!r}"
        if way < 0.6:
            return _with_odd_element(valid, rng)
    if isinstance(valid, dict) and valid and way < 0.7:
        return _with_odd_entry(valid, rng)
    word = str(rng.choice(list(VALUES)))
    return VALUES[word](), word


def _with_odd_element(valid, rng):
    """The same with one element replaced, at whatever depth."""
    made = valid.tolist() if isinstance(valid, np.ndarray) else list(valid)
    i = int(rng.integers(len(made)))
    if isinstance(made[i], list | tuple) and len(made[i]) and rng.random() < 0.7:
        made[i], word = _with_odd_element(made[i], rng)
    else:
        word = str(rng.choice(SCALARS))
        made[i] = VALUES[word]()
    return made, f"itself with {word} at {i}"


def _with_odd_entry(valid, rng):
    """The same with one entry replaced or left out."""
    made = dict(valid)
    key = list(made)[int(rng.integers(len(made)))]
    if rng.random() < 0.2:
        del made[key]
        return made, f"itself without {key!r}"
    made[key], word = _odd(made[key], rng)
    return made, f"itself, {key!r} {word}"


# ------------------------------------------------------------------ what may happen


class TooLongError(BaseException):
    """A call that does not end."""


def complaint(odd):
    """What is wrong with how a call answers; None where it works or says what to do."""
    with _a_folder(), _streams() as closed, _limits():
        answer = _complaint(odd)
    return answer if not closed else f"closed standard streams: {closed}"


def _complaint(odd):
    valid = CALLS[odd.name]
    given = copy.deepcopy(valid.arguments) | odd.other
    before = {name: _fingerprint(value) for name, value in given.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = valid.function(**given)
        except (TypeError, ValueError) as error:
            if not (_names_an_argument(str(error), odd) or _of_scikit_learn(error)):
                return f"{type(error).__name__} without the argument: {error}"
        except OSError as error:
            if error.errno not in _ODD_PATHS or not error.filename:
                return f"{type(error).__name__}: {error}"
        except TooLongError:
            return f"no answer after {TOO_LONG} seconds"
        except RuntimeWarning as error:
            if not _of_scikit_learn(error):  # the model's own
                return f"{type(error).__name__}: {error}"
        except (Exception, SystemExit) as error:
            return f"{type(error).__name__}: {error}"
        else:
            found = _nan_places(result) - _usual_nans(odd.name) - NOT_KNOWN
            nan = any("nan" in _text(one) or _nan_places(one) for one in given.values())
            if found and not nan:
                return f"nan in the result, at {', '.join(sorted(found))}"
    changed = [name for name in given if before[name] != _fingerprint(given[name])]
    if set(changed) - valid.changes:
        return f"{', '.join(changed)} was changed"
    return None


def _names_an_argument(message, odd):
    """Whether the message says which argument to change."""
    call = CALLS[odd.name]
    words = [call.words.get(one, rf"\b{one}\b") for one in odd.other]
    # One that was not, where the two do not go together
    words += [rf"\b{one}(=| has\b| goes with\b)" for one in call.arguments]
    if any(map(callable, odd.other.values())):
        return True  # the message is that of the function
    words.append("not to be (compared|hashed|printed)|_Hostile")  # an object's own
    return any(re.search(word, message) for word in words)


def _of_scikit_learn(error):
    """Whether scikit-learn refused what its estimators refuse."""
    frames = [one.filename for one in traceback.extract_tb(error.__traceback__)]
    theirs = "/site-packages/", "pandas/_libs/"  # compiled files have short names
    ours = max(
        i for i, file in enumerate(frames) if not any(one in file for one in theirs)
    )
    return ours + 1 < len(frames) and "/sklearn/" in frames[ours + 1]


@contextlib.contextmanager
def _a_folder():
    """In an empty folder, the parent of which is empty too."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "here"))
        os.chdir(os.path.join(folder, "here"))
        try:
            yield
        finally:
            os.chdir(before)


@contextlib.contextmanager
def _streams():
    """Open standard streams closed again by the call, which are named."""
    kept, closed = [os.dup(stream) for stream in range(3)], []
    try:
        yield closed
    finally:
        for stream, duplicate in enumerate(kept):
            try:
                os.fstat(stream)
            except OSError:
                closed.append(stream)
            os.dup2(duplicate, stream)
            os.close(duplicate)


@contextlib.contextmanager
def _limits():
    """Within limits of time and memory."""

    def stop(*_):
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + TOO_MUCH, hard))
    signal.alarm(TOO_LONG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _fingerprint(value, depth=0):
    """What must be the same after a call; None of what is not looked into."""
    if depth > 8:
        return None
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return value.shape, [_fingerprint(v, depth + 1) for v in value.flat]
        held = np.ma.getdata(value), np.ma.getmaskarray(value)
        return value.dtype.str, value.shape, [one.tobytes() for one in held]
    if isinstance(value, list | tuple):
        return type(value), [_fingerprint(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return [(key, _fingerprint(one, depth + 1)) for key, one in value.items()]
    if sp.issparse(value):
        return value.shape, value.nnz, value.toarray().tobytes()
    if type(value).__module__.startswith(("pandas", "polars")):
        with contextlib.suppress(Exception):
            return _fingerprint(np.asarray(value.to_numpy(), dtype=object), depth)
    return value if isinstance(value, str | bytes | int) else None


@functools.cache
def _usual_nans(name):
    """Where the result of the valid call has them, for what was not asked for."""
    call = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _nan_places(call.function(**copy.deepcopy(call.arguments)))


def _nan_places(value, name="it", depth=0):
    """Names of the attributes, or keys, that are nan or have one in them."""
    if depth > 6:
        return set()
    if isinstance(value, float | np.floating):
        return {name} if math.isnan(value) else set()
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return (
            {name} if value.dtype.kind in "fcmM" and (value != value).any() else set()
        )
    of_frames = type(value).__module__.startswith(("pandas", "polars", "pyarrow"))
    if of_frames and hasattr(value, "__len__"):
        with contextlib.suppress(Exception):
            value = np.asarray(value, dtype=object)
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, np.ndarray):
        items = [(name, math.nan if one is None else one) for one in value.flat]
    elif isinstance(value, list | tuple | set):
        items = [(name, one) for one in value]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [one.name for one in dataclasses.fields(value)]
        items = [(one, getattr(value, one)) for one in fields]
    else:
        missing = "nan", "NaN", "NaT", "<NA>", "--"
        return {name} if _text(value) in missing else set()
    return set().union(*(_nan_places(one, str(key), depth + 1) for key, one in items))


def _text(value):
    try:
        return str(value)
    except Exception:
        return ""


# -------------------------------------------------------------------- by hand


def main(seed, first, last=None):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if last is None:
        odd = odd_call(seed, first)
        print(f"{odd}: {complaint(odd)}")
        with _a_folder(), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            try:
                print(CALLS[odd.name](**odd_call(seed, first).other))
            except Exception:
                traceback.print_exc()
        return
    for number in range(first, last):
        answer = complaint(odd_call(seed, number))
        if answer is not None:
            answer = " ".join(answer.split())[:300]
            print(f"{seed} {number}: {odd_call(seed, number)}: {answer}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
