"""The functions that ship with the program: the six of ESG.

Times at the smallest configuration (1 vCPU, 1 vGPU, batch 1) are published, seen in a summary of the
paper; cold starts, input sizes and networks are recollected; how times scale is our law
(:func:`~nona.serverless.model.function.default_times`). Source: Hui, Xu, Guo, Shen, ESG, HPDC 2024.
"""

from __future__ import annotations

from nona.hardware.table_file import shipped_table
from nona.serverless.model.function import Function, default_times

TABLE = ("nona.serverless", "data/functions.csv")


def function_names() -> tuple[str, ...]:
    """Names of the shipped functions.

    >>> len(function_names())
    6
    """
    return tuple(row["function"] for row in shipped_table(*TABLE))


def shipped_function(name: str, gpu_floor: float = 0.4, cpu_share: float = 0.2) -> Function | None:
    """The shipped function ``name`` with its times by the default law; ``None`` where there is none.

    >>> shipped_function("deblur").cold_start_s
    22.343
    """
    for row in shipped_table(*TABLE):
        if row["function"] == name:
            return Function(
                name,
                default_times(float(row["smallest_ms"]) / 1000, gpu_floor, cpu_share),
                cold_start_s=float(row["cold_start_ms"]) / 1000,
                input_bytes=float(row["input_bytes"]),
                source=f"{row['source']}, {row['network']}",
                confirmed=tuple(row["confirmed"].split()),
            )
    return None
