"""The functions that ship with the program: the six of ESG, and the eleven measured networks.

Of ESG's, times at the smallest configuration (1 vCPU, 1 vGPU, batch 1) are published, seen in a summary of
the paper; cold starts, input sizes and networks are recollected; how times scale is our law
(:func:`~nona.serverless.model.function.default_times`). Source: Hui, Xu, Guo, Shen, ESG, HPDC 2024.

Of the networks, the law of GPU times is fitted to measurements (:mod:`nona.serverless.profiles`). They have
no part on the CPU, as none was measured apart. Cold starts are assumed; the input is one image or text.
"""

from __future__ import annotations

from nona.errors import CostError
from nona.hardware.table_file import Row, shipped_table
from nona.serverless.model.function import DEFAULT_LAW, DefaultLaw, Function, GpuLaw, LawTimes, default_times

TABLE = ("nona.serverless", "data/functions.csv")
NETWORKS = ("nona.serverless", "data/networks.csv")
_INPUTS = ("nona.serverless", "data/network_inputs.csv")
NETWORK_COLD_START_S = 5.0
MEASURED = "measured"
WEIGHT_BYTES = 4.0  # of a parameter, in single precision, as was measured


def function_names() -> tuple[str, ...]:
    """Names of the shipped functions, those of ESG first.

    >>> len(function_names()), function_names()[-1]
    (17, 'bert')
    """
    return tuple(row["function"] for row in shipped_table(*TABLE)) + network_names()


def beside_times(name: str) -> dict[str, float]:
    """What stays of a shipped function that gets other times: its cold start (s) and its input (bytes).

    >>> beside_times("deblur"), beside_times("mine")
    ({'cold_start': 22.343, 'input': 1100000.0}, {})
    """
    shipped = shipped_function(name)
    return {} if shipped is None else {"cold_start": shipped.cold_start_s, "input": shipped.input_bytes}


def network_names() -> tuple[str, ...]:
    """Names of the measured networks.

    >>> len(network_names())
    11
    """
    return tuple(row["network"] for row in shipped_table(*NETWORKS))


def network_law(name: str) -> GpuLaw:
    """The law fitted to the measurements of the network ``name``.

    >>> round(1e3 * network_law("vgg16").seconds(1, 1), 1)
    8.0
    """
    return _law(_network_row(name))


def shipped_network(name: str) -> Function:
    """The measured network ``name`` as a function.

    Raises
    ------
    CostError
        When it was not measured.
    """
    return _network(_network_row(name))


def shipped_function(name: str, law: DefaultLaw = DEFAULT_LAW) -> Function | None:
    """The shipped function ``name``; ESG's with times by the default law. ``None`` where there is none.

    >>> shipped_function("deblur").cold_start_s, shipped_function("bert").confirmed
    (22.343, ('measured',))
    """
    for row in shipped_table(*TABLE):
        if row["function"] == name:
            return Function(
                name,
                default_times(float(row["smallest_ms"]) / 1000, law),
                cold_start_s=float(row["cold_start_ms"]) / 1000,
                input_bytes=float(row["input_bytes"]),
                source=f"{row['source']}, {row['network']}",
                confirmed=tuple(row["confirmed"].split()),
            )
    return shipped_network(name) if name in network_names() else None


def _network_row(name: str) -> Row:
    for row in shipped_table(*NETWORKS):
        if row["network"] == name:
            return row
    raise CostError(f"Network {name!r}: it is not a measured one; use {', '.join(network_names())}.")


def _network(row: Row) -> Function:
    beside = {r["network"]: r for r in shipped_table(*_INPUTS)}[row["network"]]
    return Function(
        row["network"],
        LawTimes(_law(row)),
        cold_start_s=NETWORK_COLD_START_S,
        input_bytes=float(beside["input_bytes"]),
        source=f"ParvaGPU (Lee et al., SC 2024), A100; law's mean error {100 * float(row['error']):.1f} %",
        confirmed=(MEASURED,),
        weight_bytes=WEIGHT_BYTES * float(beside["parameters"]),
    )


def _law(row: Row) -> GpuLaw:
    return GpuLaw(
        float(row["per_query_ms"]) / 1e3,
        float(row["floor_ms"]) / 1e3,
        float(row["constant_ms"]) / 1e3,
        float(row["exponent"]),
    )
