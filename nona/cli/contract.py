"""``nona contract``: its arguments, and the report on tasks, steps, sub-graphs, and glued tasks."""

from __future__ import annotations

import argparse
from typing import Any

from nona import study
from nona.contraction.rules import COST_AWARE, DEFAULT_RULE, RULES
from nona.errors import NonaError
from nona.hardware.network import Network
from nona.placement.spans.messages import Link
from nona.report.inputs.coarsening import coarsening_report
from nona.report.inputs.models import contraction
from nona.units import Dimension, parse_quantity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``nona contract`` besides its model."""
    parser.add_argument(
        "--rule",
        default=DEFAULT_RULE,
        metavar="RULE",
        help=f"{', '.join(RULES)}, or {COST_AWARE}: {DEFAULT_RULE}, and it prints which tasks stay together "
        "and why",
    )
    parser.add_argument(
        "--capacity",
        default=Network().capacity,
        metavar="C",
        help="capacity of the link between servers, for the tasks that stay together (default 25 Gbit/s)",
    )
    parser.add_argument(
        "--latency", default=Network().latency_s, metavar="L", help="latency of that link (default 20 us)"
    )
    parser.add_argument(
        "--share",
        default=0.0,
        metavar="X",
        help="largest loss by keeping tasks together, as a share of a sub-graph's time on one server, "
        "e.g. 2%% (default 0)",
    )


def contract_report(arguments: argparse.Namespace, model: study.PreparedModel) -> dict[str, Any]:
    """The object that ``nona contract --json`` prints."""
    network = Network(
        _quantity("--capacity", arguments.capacity, "bandwidth"),
        _quantity("--latency", arguments.latency, "time"),
    )
    share = _quantity("--share", arguments.share, "fraction")
    glued = study.glued_model(model, Link(network.capacity, network.latency_s), share=share)
    counts = study.configuration_counts(model)
    report = contraction(model.contracted, model.costed[0], model.decomposition, counts)
    return report | {"rule": arguments.rule, "coarsening": coarsening_report(glued).to_json()}


def _quantity(option: str, value: str | float, dimension: Dimension) -> float:
    try:
        return parse_quantity(value, dimension)
    except ValueError as error:
        raise NonaError(f"{option}: {error}.") from error
