"""Numbers and sums as LaTeX, with units and sensible digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST_TERMS = 4
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def tex_number(value: float, digits: int = 4) -> str:
    """A number, in powers of ten where it is very small or large.

    >>> tex_number(0.25), tex_number(1.5e-9), tex_number(float("inf"))
    ('0.25', '1.5\\\\cdot 10^{-9}', '\\\\infty')
    """
    if not math.isfinite(value):
        return r"\infty"
    if value and not 1e-3 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{float(mantissa):g}\\cdot 10^{{{int(exponent)}}}"
    return f"{value:.{digits}g}"


def tex_time(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> tex_time(0.0123), tex_time(0.0)
    ('12.3\\\\,\\\\mathrm{ms}', '0\\\\,\\\\mathrm{s}')
    """
    if not math.isfinite(seconds):
        return tex_number(seconds)
    size, unit = next(((s, u) for s, u in _TIMES if abs(seconds) >= s), _TIMES[-1] if seconds else _TIMES[0])
    return f"{seconds / size:.4g}\\,\\mathrm{{{unit}}}"


def tex_rate(per_s: float) -> str:
    """A rate per second.

    >>> tex_rate(300)
    '300\\\\,\\\\mathrm{s^{-1}}'
    """
    return f"{tex_number(per_s)}\\,\\mathrm{{s^{{-1}}}}"


def tex_sum(terms: Sequence[str]) -> str:
    """Terms joined by plus signs; of many terms only the first and the last.

    >>> tex_sum(["a", "b"]), tex_sum(list("abcdefg"))
    ('a + b', 'a + b + c + \\\\ldots + g')
    """
    if len(terms) <= MOST_TERMS + 1:
        return " + ".join(terms) or "0"
    return " + ".join([*terms[: MOST_TERMS - 1], r"\ldots", terms[-1]])
