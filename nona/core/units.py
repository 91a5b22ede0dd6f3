"""Quantities with units: parsing and formatting. SI internally.

Times are seconds, sizes bytes, bandwidths bytes per second, rates 1/s. Prefixes are decimal
(``1 MB`` is 10⁶ bytes), with the binary ones under their own names (``1 MiB`` is 2²⁰ bytes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Dimension = Literal["time", "size", "bandwidth", "rate", "fraction"]

_DECIMAL = {p: Fraction(10**e) for p, e in (("", 0), ("k", 3), ("K", 3), ("M", 6), ("G", 9), ("T", 12))}
_BINARY = {"Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40)}
_MICRO = Fraction(1, 10**6)
_TIME = {
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
    "us": _MICRO,
    "µs": _MICRO,
    "μs": _MICRO,
    "ns": _MICRO / 1000,
    "min": Fraction(60),
    "h": Fraction(3600),
}
_SIZE = {p + "B": f for p, f in (_DECIMAL | _BINARY).items()} | {
    p + "bit": f / 8 for p, f in (_DECIMAL | _BINARY).items()
}
UNITS: dict[Dimension, dict[str, Fraction]] = {
    "time": _TIME,
    "size": _SIZE,
    "bandwidth": {f"{u}/s": f for u, f in _SIZE.items()}
    | {p + "bps": f / 8 for p, f in _DECIMAL.items() if p},
    "rate": {"/s": Fraction(1), "1/s": Fraction(1), "Hz": Fraction(1)}
    | {"/min": Fraction(1, 60), "1/min": Fraction(1, 60), "/h": Fraction(1, 3600)},
    "fraction": {"%": Fraction(1, 100)},
}
_EXAMPLE = {
    "time": "'5 ms'",
    "size": "'1 MB'",
    "bandwidth": "'25 Gbit/s'",
    "rate": "'300/s'",
    "fraction": "0.4",
}
# Possessive: a text of many digits that does not match is given up in linear time.
_PATTERN = re.compile(r"\s*+([+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?+)\s*+(\S*+)\s*+")
_LONGEST = 400  # letters; no float needs more


def parse_quantity(value: str | float, dimension: Dimension) -> float:
    """Return ``value`` in SI units.

    ``value``: a number (already SI), or a string: a number, optional space, optional unit. ``dimension``:
    kind of quantity; it decides which units are allowed.

    Raises ``ValueError`` for an unknown unit, a text without a number, or a value that is not finite.

    >>> parse_quantity("25 Gbit/s", "bandwidth")
    3125000000.0
    >>> parse_quantity("5 ms", "time"), parse_quantity(0.5, "time")
    (0.005, 0.5)
    >>> parse_quantity("3 apples", "size")
    Traceback (most recent call last):
    ValueError: '3 apples' is not a size; write for example '1 MB', or a number of bytes
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(_complaint(value, dimension))
    if isinstance(value, str):
        match = _PATTERN.fullmatch(value) if len(value) <= _LONGEST else None
        unit = match.group(2) if match else None
        if match is None or (unit and unit not in UNITS[dimension]):
            raise ValueError(_complaint(value, dimension))
        number = float(match.group(1))
        if unit and 1e-200 < abs(number) < 1e200:  # exact, then rounded once: 20 us is the float 2e-05
            number = float(Fraction(match.group(1)) * UNITS[dimension][unit])
        elif unit:
            number *= float(UNITS[dimension][unit])
    else:
        number = _as_float(value)
    if not math.isfinite(number):
        raise ValueError(f"{start_of(value)} must be finite; write for example {_EXAMPLE[dimension]}")
    return number


_WRITTEN: dict[Dimension, tuple[str, ...]] = {
    "time": ("s", "ms", "us", "ns"),
    "size": ("GB", "MB", "kB", "B"),
    "bandwidth": ("Gbit/s", "Mbit/s", "kbit/s", "bit/s"),
    "rate": ("/s",),
    "fraction": (),
}


def quantity_text(value: float, dimension: Dimension) -> str | float:
    """``value`` (SI) as a string with the unit that makes it shortest, or as a number.

    :func:`parse_quantity` gives exactly ``value`` back. Times have the unit that :func:`format_time` shows.

    >>> quantity_text(0.04, "time"), quantity_text(3.125e9, "bandwidth"), quantity_text(0.4, "fraction")
    ('40 ms', '25 Gbit/s', 0.4)
    >>> quantity_text(0.15, "time"), quantity_text(0.5, "time"), quantity_text(1.5, "time")
    ('150 ms', '500 ms', '1.5 s')
    """
    candidates = []
    for unit in _WRITTEN[dimension]:
        number = f"{value / float(UNITS[dimension][unit]):.12g}"
        text = f"{number}/s" if dimension == "rate" else f"{number} {unit}"
        if "e" not in number and parse_quantity(text, dimension) == value:
            if dimension == "time" and abs(float(number)) >= 1:
                return text
            candidates.append(text)
    return min(candidates, key=len) if candidates else value


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 10^308
        return math.inf


def start_of(value: object) -> str:
    """Return a value in an error, long ones cut; Python refuses to write whole numbers of 4,300 digits."""
    if isinstance(value, int) and abs(value) > 10**60:
        return "a whole number of more than 60 digits"
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "…"


def _complaint(value: object, dimension: Dimension) -> str:
    base = {
        "time": "of seconds",
        "size": "of bytes",
        "bandwidth": "of bytes/s",
        "rate": "per second",
        "fraction": "of parts of 1",
    }[dimension]
    example = _EXAMPLE[dimension]
    return f"{start_of(value)} is not a {dimension}; write for example {example}, or a number {base}"


def format_number(value: float, digits: int = 3) -> str:
    """Return a number as text with so many significant digits, and no exponent unless it is tiny.

    >>> format_number(240, 2), format_number(12_345.6), format_number(0.000123456), format_number(math.nan)
    ('240', '12,300', '0.000123', '–')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "-∞"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}"
    return f"{Decimal(f'{rounded:.{digits}g}'):f}" if abs(rounded) >= 1e-6 else f"{rounded:.{digits}g}"


def of_capacity(load: float, whose: str = "its") -> str:
    """Return an offered load in words: a share of the capacity, or how many times it is.

    >>> of_capacity(0.4), of_capacity(10.05), of_capacity(1.004, "their")
    ('40 % of its capacity', '10.1 times its capacity', '1.004 times their capacity')
    """
    if load < 1:
        return f"{format_number(100 * load)} % of {whose} capacity"
    return f"{format_number(load, 4 if load < 1.1 else 3)} times {whose} capacity"


_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def _scaled(value: float, steps: tuple[tuple[float, str], ...], digits: int) -> str:
    if not math.isfinite(value):
        return format_number(value)
    rounded = float(f"{value:.{digits}g}")  # 999.9 ms is 1 s
    factor, unit = next(((f, u) for f, u in steps if abs(rounded) >= f), steps[-1])
    return f"{format_number(rounded / factor, digits)} {unit}".strip()


def format_time(seconds: float, digits: int = 3) -> str:
    """Seconds as text.

    >>> format_time(0.0142), format_time(0), format_time(0.9999), format_time(math.nan), format_time(math.inf)
    ('14.2 ms', '0 s', '1 s', '–', '∞')
    >>> format_time(2.5e-6), format_time(90.0), format_time(240, 2), format_time(12_345.0)
    ('2.5 µs', '90 s', '240 s', '12,300 s')

    A thousandth of a nanosecond is what rounding leaves of sums of times:

    >>> format_time(6.21e-16), format_time(-1e-13), format_time(2e-12)
    ('0 s', '0 s', '0.002 ns')
    """
    if abs(seconds) < 1e-12:
        return "0 s"
    return _scaled(seconds, _TIMES, digits)


_FINEST, _WIDEST = 0.01, 100_000.0  # of a unit: times below and above are hard to read in it


def time_format(times: Iterable[float], digits: int = 3) -> Callable[[float], str]:
    """One way to write all these times, in one unit; each in its own where they are too far apart for that.

    >>> show = time_format([1.81, 0.95, 0.0]); show(1.81), show(0.95), show(0.0), show(math.inf)
    ('1.81 s', '0.95 s', '0 s', '∞')
    >>> [time_format(times)(2.0) for times in ([2.0, 0.0021], [2.0, 2e-6], [])]
    ['2,000 ms', '2 s', '2 s']
    """
    sizes = [abs(t) for t in times if math.isfinite(t) and abs(t) >= 1e-12]
    low, high = min(sizes, default=1.0), float(f"{max(sizes, default=1.0):.{digits}g}")
    for factor, unit in _TIMES:
        if high < factor or low < _FINEST * factor:
            continue
        if high >= _WIDEST * factor and factor < 1:
            break
        return lambda t: (
            f"{format_number(t / factor if abs(t) >= 1e-12 else 0.0, digits)} {unit}"
            if math.isfinite(t)
            else format_number(t)
        )
    return lambda t: format_time(t, digits)


def duration(seconds: float) -> str:
    """Return a wall-clock time as text, without false precision.

    >>> duration(0.4), duration(75), duration(4000), duration(15_686)
    ('0.4 s', '75 s', '67 min', '4 h 21 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 2:
        return f"{hours:,} h {minutes} min"
    return f"{seconds:.0f} s" if seconds < 120 else f"{60 * hours + minutes} min"


def format_size(size_bytes: float, digits: int = 3) -> str:
    """Bytes as text, with decimal prefixes.

    >>> format_size(1_500_000), format_size(0)
    ('1.5 MB', '0 B')

    A thousandth of a byte is what rounding leaves of sums of sizes:

    >>> format_size(3e-10)
    '0 B'
    """
    if abs(size_bytes) < 1e-3:
        return "0 B"
    return _scaled(size_bytes, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")), digits)


def format_bandwidth(bytes_per_s: float, digits: int = 3) -> str:
    """Bandwidth as text in bits per second.

    >>> format_bandwidth(3.125e9)
    '25 Gbit/s'

    As with sizes, less than a thousandth of a bit per second is 0:

    >>> format_bandwidth(1e-9)
    '0 bit/s'
    """
    if abs(bytes_per_s) < 1e-4:
        return "0 bit/s"
    steps = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
    return _scaled(bytes_per_s * 8, steps, digits)


def format_count(value: float, unit: str = "", digits: int = 3) -> str:
    """Return a large number with a decimal prefix.

    >>> format_count(3.63e9, "FLOP")
    '3.63 GFLOP'
    """
    steps = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
    return _scaled(value, tuple((f, p + unit) for f, p in steps), digits)
