"""The fitted laws in rows and in words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from nona.serverless.profiles.fits import Fit

Row = dict[str, str | float]


def fit_rows(fits: Sequence[Fit]) -> list[Row]:
    """A row for each network: the law in ms, its errors in per cent.

    >>> from nona.serverless.profiles.fits import shipped_fits
    >>> fit_rows(shipped_fits()[:1])[0]["error, %"]
    2.7
    """
    return [
        {
            "network": f.network,
            "floor F, ms": round(1e3 * f.law.floor_s, 2),
            "constant a, ms": round(1e3 * f.law.constant_s, 2),
            "per job k, ms": round(1e3 * f.law.per_query_s, 2),
            "exponent α": round(f.law.exponent, 3),
            "points": f.points,
            "error, %": _percent(f.error),
            "slices left out, %": _percent(f.error_slices_out),
            "slices between others, %": _percent(f.error_slices_between),
            "batches left out, %": _percent(f.error_batches_out),
            "batches between others, %": _percent(f.error_batches_between),
        }
        for f in fits
    ]


def fit_title(fit: Fit) -> str:
    """What the figure of one network shows.

    >>> from nona.serverless.profiles.fits import shipped_fits
    >>> fit_title(shipped_fits()[0])
    'vgg16: the law is off by 2.7 % on average, by 4.5 % on slices that the fit did not see'
    """
    return (
        f"{fit.network}: the law is off by {_percent(fit.error)} % on average, by "
        f"{_percent(fit.error_slices_out)} % on slices that the fit did not see"
    )


def fits_finding(fits: Sequence[Fit]) -> str:
    """The error of all networks, and of the worst.

    >>> from nona.serverless.profiles.fits import shipped_fits
    >>> fits_finding(shipped_fits())
    'Over 11 networks the law is off by 3.1 % on average, at most 6.8 % (bert).'
    """
    worst = max(fits, key=lambda f: f.error)
    return (
        f"Over {len(fits)} networks the law is off by {_percent(fmean(f.error for f in fits))} % on average, "
        f"at most {_percent(worst.error)} % ({worst.network})."
    )


def _percent(share: float) -> float:
    return round(100 * share, 1)
