"""Every kind of job of the app: on which page it stands, and how a visitor starts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.visitor import Visitor

PLACED, PLANNED = "queries", "a100s_sliced_or_l4s"
SPOKEN = "chat_routers"
SERVERLESS, TRAINING, ELASTIC = "strict_light", "two_teams_one_cluster", "who_scales_who_waits"
SMALL = """\
version: 1
name: Attacked
seed: 7
cluster:
  servers: [{count: 4, gpu: a100-40gb, gpus: 1, vcpus: 16}]
  network: {capacity: 100 Gbit/s, latency: 20 us, discipline: fifo}
workload:
  - {model: ensemble, rate: 20/s, slo: 150 ms}
  - {model: slides_example, rate: 5/s, slo: 40 ms}
simulation: {jobs: 30000, replications: 2}
schedulers: [nona, local, spread]
"""
RUN, SWEEP = (("simulation-view", (name,)) for name in ("Run", "Sweep"))
FAN, WIDE = "fan.json", 3000  # a model with so many tasks side by side that its counting takes seconds
Choice = tuple[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Started:
    """How one kind of job is started.

    Attributes
    ----------
    name
        Of the kind.
    scenario
        The shipped scenario that has it, or :data:`PLACED` for :data:`SMALL`.
    page
        The path of its page.
    choices
        What is chosen on the page before, where it is there: tabs and modes by key.
    vary
        Called with a number before each start: what has been done is not done again for the same question.
    own_button
        Whether a button starts it; else looking at the page does.
    """

    name: str
    scenario: str
    page: str
    choices: tuple[Choice, ...] = ()
    vary: Callable[[Visitor, int], None] = lambda visitor, number: None
    own_button: bool = True

    @property
    def button(self) -> str:
        """The key of the button that starts it."""
        return f"run-{self.name}" if self.own_button else ""

    @property
    def stop(self) -> str:
        """The key of the button that every page has while it waits or runs."""
        return f"stop-{self.name}"


def _one_number(visitor: Visitor, number: int) -> None:
    visitor.choose("sweep-second-", "nothing")
    visitor.choose("sweep-jobs-", 2000.0 + number)


def _two_numbers(visitor: Visitor, number: int) -> None:
    second = visitor.find("selectbox", "Against").options[-1]
    visitor.choose("sweep-second-", str(second))
    visitor.choose("sweep-jobs-", 2000.0 + number)


def _another_load(visitor: Visitor, number: int) -> None:
    visitor.choose("what-if-load", [0.5 + 0.05 * (number % 30)])


def _another_device(visitor: Visitor, number: int) -> None:
    devices = visitor.find("selectbox", "Times on device").options
    visitor.choose("device", str(devices[number % len(devices)]))


STARTED = (
    Started("place", PLACED, "placement"),
    Started("holds", PLACED, "simulation"),
    Started("simulate", PLACED, "simulation", (RUN,)),
    Started("language", SPOKEN, "simulation"),
    Started("language-plan", SPOKEN, "plan"),
    Started("sweep", PLACED, "simulation", (SWEEP,), _one_number),
    Started("grid", PLACED, "simulation", (SWEEP,), _two_numbers),
    Started("answer", PLACED, "simulation", (RUN, ("what-if-open", True)), _another_load, own_button=False),
    Started("count", PLACED, "models", (("model-view", ("What it could gain",)),), _another_device),
    Started("plan", PLANNED, "plan"),
    Started("validate", PLACED, "evidence", (("evidence-tabs", "Simulator"),)),
    Started("serverless", SERVERLESS, "serverless"),
    Started("serverless-sharing", SERVERLESS, "serverless", (("serverless-tabs", "Sharing"),)),
    Started("serverless-over", SERVERLESS, "serverless", (("serverless-tabs", "Up to what load?"),)),
    Started("serverless-nodes", SERVERLESS, "serverless", (("serverless-tabs", "Nodes"),)),
    Started("training", TRAINING, "training"),
    Started("training-one-more", TRAINING, "training", (("training-tabs", "One more GPU"),)),
    Started("training-elastic", ELASTIC, "training"),
)


def started(name: str) -> Started:
    """The kind of that name."""
    return next(kind for kind in STARTED if kind.name == name)
