"""The shipped functions as rows of a table."""

from __future__ import annotations

from nona.serverless.model.catalogue import MEASURED, function_names, shipped_function
from nona.serverless.model.configuration import grid


def function_rows() -> list[dict[str, object]]:
    """A row for each shipped function; values that no readable text confirms are marked.

    >>> function_rows()[0]["time, ms"]
    86.0
    """
    smallest = grid([1], [1], [1])
    rows: list[dict[str, object]] = []
    for name in function_names():
        f = shipped_function(name)
        if f is None:
            continue
        cpu, gpu = f.seconds(smallest)
        rows.append(
            {
                "function": name,
                "time, ms": round(1e3 * float(cpu[0] + gpu[0]), 3),
                "cold start, s": f.cold_start_s,
                "input, MB": f.input_bytes / 1e6,
                "confirmed": ", ".join(f.confirmed) or "nothing",
                "source": f"{f.source}; the rest {'assumed' if MEASURED in f.confirmed else 'recollected'}",
            }
        )
    return rows
