"""``nona capacity``: the fewest servers, or the cheapest, that keep the SLOs, by device and scheduler."""

from __future__ import annotations

from nona.cli.output import emit, warn_of_hardware
from nona.cli.planning.options import CapacityOptions
from nona.cli.progress import ProgressLine
from nona.errors import NonaError
from nona.report.capacity.report import capacity_report, capacity_text
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study import prepare
from nona.study.cache import StudyCache
from nona.study.capacity.devices import cheapest, with_gpu
from nona.study.capacity.search import fewest_servers


def capacity(arguments: CapacityOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the fewest servers for each device and scheduler, and print them or JSON."""
    hit, prices = arguments.hit, dict(arguments.price)
    if not 0 <= arguments.group < len(scenario.cluster.servers):
        raise NonaError(
            f"--group {arguments.group}: there is no cluster.servers[{arguments.group}]; choose another."
        )
    own = scenario.cluster.servers[arguments.group].gpu
    warn_of_hardware(prepare(scenario, sources))
    line, cache = ProgressLine(quiet=arguments.json), StudyCache()
    found = [
        fewest_servers(
            scenario if gpu == own else with_gpu(scenario, arguments.group, gpu),
            sources,
            1 - hit,
            group=arguments.group,
            most=arguments.most,
            scheduler=scheduler,
            prices=prices or None,
            simulated=arguments.simulate,
            cache=cache,
            tell=lambda text, gpu=gpu: line.tell(f"{gpu}: {text}"),  # type: ignore[misc]
        )
        for gpu in dict.fromkeys(arguments.gpu or [own])
        for scheduler in dict.fromkeys(arguments.scheduler or ["nona"])
    ]
    line.end()
    report = capacity_report(found, cheapest(found), hit, arguments.group, arguments.most)
    emit(arguments, report, capacity_text)
