"""Rows of numbers out of text: svmlight and delimited lines.

The text ends with a newline, so that a loop over a token needs no other bound. A call
parses rows until there are `limit` of them, the text ends, or a row is wrong; a wrong
row leaves nothing behind but the reason and its place, and the caller goes on with the
next line. What follows is written to `found`, see the names below.

A decimal of up to 2^53 (without its point) and an exponent of at most ±22 is one exact
product or quotient. Others are left, as text, to the caller: their rounding is not one
operation. Sums of digits are of the type int64 throughout.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Bytes, Floats, Integers
from argmetric._jit import kernel

Columns = npt.NDArray[np.int32]

# Places in `found`
ROWS, NEXT, LINES, STATUS, WHERE, COLUMN, VALUES, LATER = range(8)

# What STATUS says
(
    DONE,
    LABEL,  # neither class
    NO_LABEL,
    FEATURE,  # no index:value
    NUMBER,  # not a number
    NOT_FINITE,
    TOO_LARGE,
    ZERO_INDEX,
    OUT_OF_RANGE,
    ORDER,  # indices that do not rise
    EMPTY,
    CELLS,  # too few or too many
    OPEN_QUOTE,
) = range(13)

_EXACT, _LATER, _WRONG, _INFINITE, _HUGE = range(5)
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
_TWO_53 = 2**53
_MOST_DIGITS = 18  # int64 holds them all

_NEWLINE, _TAB, _RETURN, _SPACE = 10, 9, 13, 32
_QUOTE, _HASH, _PLUS, _COMMA, _MINUS, _POINT, _COLON = 34, 35, 43, 44, 45, 46, 58

SKIPPED, VALUE, TARGET = range(3)  # what a column is


@kernel
def digit_at(text: Bytes, pos: int) -> int:
    """The digit at a place, outside of 0…9 if there is none."""
    return np.int64(text[pos]) - 48  # type: ignore[return-value]


@kernel
def decimal(text: Bytes, start: int, mark: int) -> tuple[int, float, int]:
    """Where a number ends, its value, and whether that value is final.

    `mark` may stand for the decimal point: a comma, or the point itself.
    """
    pos = start
    negative = text[pos] == _MINUS
    if negative or text[pos] == _PLUS:
        pos += 1
    first, mantissa, exponent = pos, 0, 0
    digit = digit_at(text, pos)
    while 0 <= digit <= 9:
        mantissa = mantissa * 10 + digit
        pos += 1
        digit = digit_at(text, pos)
    count = pos - first
    if text[pos] == _POINT or text[pos] == mark:
        pos += 1
        after = pos
        digit = digit_at(text, pos)
        while 0 <= digit <= 9:
            mantissa = mantissa * 10 + digit
            pos += 1
            digit = digit_at(text, pos)
        exponent = after - pos
        count -= exponent
    if count == 0:
        return pos, 0.0, _INFINITE if not_finite(text, first) else _WRONG
    if text[pos] | 32 == 101:  # e
        pos += 1
        sign = -1 if text[pos] == _MINUS else 1
        if text[pos] == _MINUS or text[pos] == _PLUS:
            pos += 1
        power, begin = 0, pos
        digit = digit_at(text, pos)
        while 0 <= digit <= 9:
            if power < 100_000:
                power = power * 10 + digit
            pos += 1
            digit = digit_at(text, pos)
        if pos == begin:
            return pos, 0.0, _WRONG
        exponent += sign * power
    if count > _MOST_DIGITS:  # the sum of digits has overflowed
        return pos, 0.0, size_of(text, first, exponent, mark)
    value, kind = float(mantissa), _EXACT
    if mantissa > _TWO_53 or exponent < -22 or exponent > 22:
        kind = size_of(text, first, exponent, mark)
        value = 0.0
    elif exponent < 0:
        value /= _POWERS[-exponent]
    elif exponent > 0:
        value *= _POWERS[exponent]
    return pos, -value if negative else value, kind


@kernel
def size_of(text: Bytes, first: int, exponent: int, mark: int) -> int:
    """Whether a decimal is 0, too large, or neither: then to be rounded later."""
    pos, digits = first, 0
    while True:
        digit = digit_at(text, pos)
        if 0 <= digit <= 9:
            digits += digit > 0 or digits > 0
        elif text[pos] != _POINT and text[pos] != mark:
            break
        pos += 1
    if digits == 0 or digits + exponent <= -324:  # under half of the smallest number
        return _EXACT
    return _HUGE if digits + exponent > 308 else _LATER  # below 10^(digits+exponent)


@kernel
def not_finite(text: Bytes, pos: int) -> bool:
    """Whether "nan" or "inf" stands here, in any case."""
    a = text[pos] | 32
    if a != 110 and a != 105:  # n, i
        return False
    b = text[pos + 1] | 32
    if b != 97 and b != 110:  # a, n
        return False
    c = text[pos + 2] | 32
    if a == 110:
        return bool(b == 97 and c == 110)
    return bool(b == 110 and c == 102)


@kernel
def same(text: Bytes, start: int, stop: int, word: Bytes) -> bool:
    """Whether a span is a word."""
    if stop - start != word.size:
        return False
    for i in range(word.size):  # noqa: SIM110
        if text[start + i] != word[i]:
            return False
    return True


@kernel
def class_of(
    text: Bytes,
    start: int,
    stop: int,
    worths: Floats,
    negative: Bytes,
    positive: Bytes,
    rest: bool,
) -> int:
    """0 or 1 for a label that is a class, as a number or as the same text; else 2.

    With `rest` all but the positive class is negative.
    """
    pos, value, kind = decimal(text, start, _POINT)
    if kind == _EXACT and pos == stop:
        if value == worths[1]:
            return 1
        if value == worths[0]:
            return 0
    if positive.size and same(text, start, stop, positive):
        return 1
    if negative.size and same(text, start, stop, negative):
        return 0
    return 0 if rest and start < stop else 2


@kernel
def keep_text(
    text: Bytes,
    start: int,
    stop: int,
    target: int,
    k: int,
    later: Bytes,
    ends: Integers,
    targets: Integers,
) -> None:
    """Leave a number to the caller: its text, and the place where its value belongs."""
    if text[start] == _PLUS:
        start += 1
    end = ends[k]
    for i in range(start, stop):
        later[end] = text[i]
        end += 1
    ends[k + 1] = end
    targets[k] = target


@kernel
def line_end(text: Bytes, pos: int) -> int:
    """The place of the next newline."""
    while text[pos] != _NEWLINE:
        pos += 1
    return pos


@kernel
def svmlight(
    text: Bytes,
    start: int,
    stop: int,
    limit: int,
    n_features: int,
    base: int,
    worths: Floats,
    negative: Bytes,
    positive: Bytes,
    rest: bool,
    y: Bytes,
    indptr: Integers,
    indices: Columns,
    data: Floats,
    later: Bytes,
    ends: Integers,
    targets: Integers,
    found: Integers,
) -> None:
    """Parse rows `label index:value index:value ... # comment`.

    `base` is the first index; a value of 0 leaves no trace, `qid:` is passed over.
    """
    pos, rows, values, kept, lines = start, 0, 0, 0, 0
    status, where = DONE, 0
    indptr[0], ends[0] = 0, 0
    while pos < stop and rows < limit:
        char = text[pos]
        if char in (_SPACE, _TAB, _RETURN):
            pos += 1
            continue
        if char in (_NEWLINE, _HASH):
            pos = line_end(text, pos) + 1
            lines += 1
            continue
        begin = pos
        while text[pos] > _SPACE:
            pos += 1
        label = class_of(text, begin, pos, worths, negative, positive, rest)
        where = begin
        if label == 2:
            status = LABEL
        if label == 2 or rest:
            for i in range(begin, pos):
                if text[i] == _COLON:
                    status = NO_LABEL
        if status != DONE:
            pos = begin
            break
        last, here, kept_here = base - 1, values, kept
        while True:
            char = text[pos]
            if char in (_SPACE, _TAB, _RETURN):
                pos += 1
                continue
            if char in (_NEWLINE, _HASH):
                break
            where = pos
            index, digit = 0, digit_at(text, pos)
            while 0 <= digit <= 9:
                if index < 1 << 40:
                    index = index * 10 + digit
                pos += 1
                digit = digit_at(text, pos)
            if text[pos] != _COLON or pos == where:
                if (
                    text[pos] == 113
                    and text[pos + 1] == 105
                    and text[pos + 2] == 100
                    and text[pos + 3] == _COLON
                ):
                    while text[pos] > _SPACE:
                        pos += 1
                    continue
                status = FEATURE
                break
            number = pos + 1
            value, kind = float(digit_at(text, number)), _EXACT
            if 0.0 <= value <= 9.0 and text[pos + 2] <= _SPACE:
                pos += 2
            else:
                pos, value, kind = decimal(text, number, _POINT)
            if kind == _INFINITE:
                status = NOT_FINITE
            elif kind == _HUGE:
                status = TOO_LARGE
            elif kind == _WRONG or (text[pos] > _SPACE and text[pos] != _HASH):
                status = NUMBER
            elif index < base:
                status = ZERO_INDEX
            elif index - base >= n_features:
                status = OUT_OF_RANGE
            elif index <= last:
                status = ORDER
            if status != DONE:
                break
            last = index
            if kind == _LATER:
                keep_text(text, number, pos, values, kept, later, ends, targets)
                kept += 1
            if value != 0.0 or kind == _LATER:
                indices[values] = index - base
                data[values] = value
                values += 1
        if status != DONE:
            values, kept, pos = here, kept_here, begin
            break
        pos = line_end(text, pos) + 1
        lines += 1
        y[rows] = label
        rows += 1
        indptr[rows] = values
    found[ROWS], found[NEXT], found[LINES] = rows, pos, lines
    found[STATUS], found[WHERE], found[COLUMN] = status, where, 0
    found[VALUES], found[LATER] = values, kept


@kernel
def delimited(
    text: Bytes,
    start: int,
    stop: int,
    limit: int,
    delimiter: int,
    mark: int,
    roles: npt.NDArray[np.int8],
    worths: Floats,
    negative: Bytes,
    positive: Bytes,
    rest: bool,
    y: Bytes,
    X: Floats,
    later: Bytes,
    ends: Integers,
    targets: Integers,
    found: Integers,
) -> None:
    """Parse rows of cells, quoted or not; `roles` says what each column is.

    `mark` may stand for the decimal point of a value: a comma, or the point itself.
    OPEN_QUOTE: the text ends within quotes, of which the caller may have more.
    """
    pos, rows, kept, lines = start, 0, 0, 0
    status, where, column = DONE, 0, 0
    width = X.shape[1]
    ends[0] = 0
    while pos < stop and rows < limit:
        if text[pos] == _NEWLINE or (
            text[pos] == _RETURN and text[pos + 1] == _NEWLINE
        ):
            pos = line_end(text, pos) + 1
            lines += 1
            continue
        begin, inner_lines, kept_here = pos, 0, kept
        column, j, label = 0, 0, 2
        while True:  # over cells; pos is at the first character of one
            while text[pos] == _SPACE or (text[pos] == _TAB and delimiter != _TAB):
                pos += 1
            where = pos
            if column >= roles.size:
                status = CELLS
                break
            quoted = text[pos] == _QUOTE
            if quoted:
                pos += 1
                first = pos
                while pos < stop:
                    if text[pos] == _QUOTE:
                        if pos + 1 < stop and text[pos + 1] == _QUOTE:
                            pos += 1
                        else:
                            break
                    inner_lines += text[pos] == _NEWLINE
                    pos += 1
                if pos >= stop:
                    status = OPEN_QUOTE
                    break
                last = pos
                pos += 1
            else:
                first = pos
                while text[pos] != delimiter and text[pos] != _NEWLINE:
                    pos += 1
                last = pos
            while first < last and text[first] == _SPACE:
                first += 1
            while last > first and (
                text[last - 1] == _SPACE
                or text[last - 1] == _RETURN
                or text[last - 1] == _TAB
            ):
                last -= 1
            while text[pos] == _SPACE or text[pos] == _RETURN:
                pos += 1
            if text[pos] != delimiter and text[pos] != _NEWLINE:
                status = NUMBER  # something after the closing quote
                break
            role = roles[column]
            if role == TARGET:
                label = class_of(text, first, last, worths, negative, positive, rest)
                if label == 2:
                    status = NO_LABEL if first == last else LABEL
                    where = first
                    break
            elif role == VALUE:
                inside = quoted or delimiter != _COMMA  # else a comma ends the cell
                end, value, kind = decimal(text, first, mark if inside else _POINT)
                if first == last:
                    status = EMPTY
                elif kind == _INFINITE:
                    status = NOT_FINITE
                elif kind == _HUGE:
                    status = TOO_LARGE
                elif kind == _WRONG or end != last:
                    status = NUMBER
                if status != DONE:
                    where = first
                    break
                if kind == _LATER:
                    place = rows * width + j
                    keep_text(text, first, last, place, kept, later, ends, targets)
                    kept += 1
                X[rows, j] = value
                j += 1
            column += 1
            if text[pos] == _NEWLINE:
                break
            pos += 1
        if status == DONE and column != roles.size:
            status = CELLS
        if status != DONE:
            kept, pos = kept_here, begin
            break
        pos += 1
        lines += 1 + inner_lines
        y[rows] = label
        rows += 1
    found[ROWS], found[NEXT], found[LINES] = rows, pos, lines
    found[STATUS], found[WHERE], found[COLUMN] = status, where, column
    found[VALUES], found[LATER] = rows * width, kept


@kernel
def largest_index(text: Bytes, start: int, stop: int) -> int:
    """The largest index of any `index:value`, comments left out; -1 without one."""
    largest, pos = -1, start
    while pos < stop:
        char = text[pos]
        if char == _HASH:
            pos = line_end(text, pos)
        elif char == _COLON:
            index, scale, back = 0, 1, pos - 1
            while back >= start and 48 <= text[back] <= 57 and scale < 10**12:
                index += scale * digit_at(text, back)
                scale *= 10
                back -= 1
            if scale > 1 and (back < start or text[back] <= _SPACE):
                largest = max(largest, index)
        pos += 1
    return largest
