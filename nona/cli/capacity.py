"""``nona capacity``: the fewest servers, or the cheapest, that keep the SLOs by prediction."""

from __future__ import annotations

import argparse
import json

from nona.cli.values import share
from nona.errors import NonaError
from nona.report.capacity.report import capacity_report, capacity_text
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.capacity import MOST, cheapest, fewest_servers, with_gpu


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``nona capacity``."""
    parser.add_argument("scenario", help="scenario file, or the name of a shipped scenario")
    parser.add_argument(
        "--hit", default="99%", metavar="SHARE", help="share of the SLOs to keep (default 99%%)"
    )
    parser.add_argument(
        "--group", type=int, default=0, help="index of the entry of cluster.servers to size (default 0)"
    )
    parser.add_argument(
        "--gpu", action="append", metavar="D", help="device to try in that entry; repeat for several"
    )
    parser.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="D=NUMBER",
        help="price of one GPU, to find the cheapest",
    )
    parser.add_argument(
        "--most", type=int, default=MOST, help=f"largest number of servers to try (default {MOST})"
    )
    parser.add_argument("--objective", help="overrides the scenario's objective, see nona place")
    parser.add_argument(
        "--simulate", action="store_true", help="also simulate the answer, and one server fewer"
    )


def capacity(arguments: argparse.Namespace, scenario: Scenario, sources: Sources) -> None:
    """Find the fewest servers for each device, and print them or JSON."""
    hit, prices = share("--hit", arguments.hit), _prices(arguments.price)
    if arguments.most < 1:
        raise NonaError(f"--most {arguments.most} must be at least 1; give a larger number.")
    if not 0 <= arguments.group < len(scenario.cluster.servers):
        raise NonaError(
            f"--group {arguments.group}: there is no cluster.servers[{arguments.group}]; choose another."
        )
    own = scenario.cluster.servers[arguments.group].gpu
    found = [
        fewest_servers(
            scenario if gpu == own else with_gpu(scenario, arguments.group, gpu),
            sources,
            1 - hit,
            group=arguments.group,
            most=arguments.most,
            prices=prices or None,
            simulated=arguments.simulate,
        )
        for gpu in dict.fromkeys(arguments.gpu or [own])
    ]
    report = capacity_report(found, cheapest(found), hit, arguments.group, arguments.most)
    print(json.dumps(report.to_json(), allow_nan=False) if arguments.json else capacity_text(report))


def _prices(entries: list[str]) -> dict[str, float]:
    found = {}
    for entry in entries:
        name, _, price = entry.partition("=")
        try:
            found[name] = float(price)
        except ValueError:
            found[name] = -1.0
        if not name or not found[name] >= 0:
            raise NonaError(f"--price {entry!r} must be DEVICE=NUMBER, at least 0, e.g. t4=0.35.")
    return found
