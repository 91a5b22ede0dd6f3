"""``nona capacity``: the fewest servers, or the cheapest, that keep the SLOs, by device and scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from click.exceptions import Exit

from nona.cli.output import emit, warn_of_hardware, warn_of_interrupt
from nona.cli.planning.options import CapacityOptions
from nona.cli.progress import ProgressLine
from nona.errors import NonaError
from nona.report.capacity.report import capacity_report, capacity_text
from nona.results.capacity import DeviceCapacity
from nona.scenario.schema import Scenario
from nona.serving.ending import INTERRUPTED
from nona.sources.lookup import Sources
from nona.study import prepare
from nona.study.cache import StudyCache
from nona.study.capacity.devices import cheapest, with_gpu
from nona.study.capacity.search import fewest_servers, unfinished


def capacity(arguments: CapacityOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the fewest servers for each device and scheduler, and print them or JSON.

    Whoever interrupts gets what is known so far.
    """
    if not 0 <= arguments.group < len(scenario.cluster.servers):
        raise NonaError(
            f"--group {arguments.group}: there is no cluster.servers[{arguments.group}]; choose another."
        )
    own = scenario.cluster.servers[arguments.group].gpu
    warn_of_hardware(prepare(scenario, sources))
    asked = [
        (gpu, scheduler)
        for gpu in dict.fromkeys(arguments.gpu or [own])
        for scheduler in dict.fromkeys(arguments.scheduler or ["nona"])
    ]
    known = _Known()
    try:
        _search(arguments, scenario, sources, asked, known)
    except KeyboardInterrupt:
        if not known.so_far:
            raise
        warn_of_interrupt()
        _show(arguments, [*known.so_far, *(unfinished(*rest) for rest in asked[len(known.so_far) :])])
        raise Exit(INTERRUPTED) from None
    _show(arguments, known.ended)


@dataclass(frozen=True, slots=True)
class _Known:
    """The searches that have ended, and at most one that goes on."""

    ended: list[DeviceCapacity] = field(default_factory=list)
    going_on: list[DeviceCapacity] = field(default_factory=list)

    @property
    def so_far(self) -> list[DeviceCapacity]:
        """Both."""
        return [*self.ended, *self.going_on]


def _search(
    arguments: CapacityOptions,
    scenario: Scenario,
    sources: Sources,
    asked: Sequence[tuple[str, str]],
    known: _Known,
) -> None:
    """Search for each device and scheduler, and put what is found into ``known``."""
    line, cache, prices = ProgressLine(quiet=arguments.json), StudyCache(), dict(arguments.price)
    own = scenario.cluster.servers[arguments.group].gpu

    def seen(now: DeviceCapacity) -> None:
        known.going_on[:] = [now]

    for gpu, scheduler in asked:
        found = fewest_servers(
            scenario if gpu == own else with_gpu(scenario, arguments.group, gpu),
            sources,
            1 - arguments.hit,
            group=arguments.group,
            most=arguments.most,
            scheduler=scheduler,
            prices=prices or None,
            simulated=arguments.simulate,
            cache=cache,
            tell=lambda text, gpu=gpu: line.tell(f"{gpu}: {text}"),  # type: ignore[misc]
            seen=seen,
        )
        known.going_on.clear()
        known.ended.append(found)
    line.end()


def _show(arguments: CapacityOptions, found: Sequence[DeviceCapacity]) -> None:
    report = capacity_report(found, cheapest(found), arguments.hit, arguments.group, arguments.most)
    emit(arguments, report, capacity_text)
