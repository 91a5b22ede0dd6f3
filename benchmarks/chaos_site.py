"""A server under attack and its visitor: start a job, catch it at work, look at page and disk."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.chaos_kinds import FAN, PLACED, SMALL, WIDE, Started
from benchmarks.chaos_table import BrokenPromiseError, require
from benchmarks.kept_server import KeptServer, alive, described, until
from benchmarks.visitor import Visitor
from nona.app.session.opening import VARIABLE
from nona.app.session.workspace_files import FILE, RESULTS, UPLOADS
from nona.app.tasks.process import NICE_VARIABLE
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.scenario.sample_files import scenario_path

SAVED_S = ENDED_S = 5.0
AT_WORK_S, BEGUN_S, DONE_S = 30.0, 3.0, 180.0  # a plan takes over a minute on a busy machine
TICKS, IMPORTED = 4, 50  # ticks of 10 ms that a worker has used: at work, and by its imports
BAD = ("could not be opened", "was not restored", "Not kept, for want")


class Site:
    """One server with folders of its own, and one browser that works on it."""

    def __init__(self, folder: Path, scenario: str = PLACED, **environment: str) -> None:
        path = folder / "attacked.yaml"
        path.write_text(SMALL if scenario == PLACED else _quick(scenario), encoding="utf-8")
        own = {
            VARIABLE: str(path),
            NICE_VARIABLE: "0",
        }  # else other programs on this machine decide when it ends
        self.server = KeptServer(folder, **own, **environment)
        self.visitor: Visitor
        self._tried = 0

    def open(self) -> None:
        """Start the server, and visit it for the first time."""
        self.server.start()
        self.visitor = Visitor(self.server.port)
        self.visitor.open("guide")

    def close(self) -> None:
        """End the server and all that came from it."""
        with suppress(OSError, AttributeError):
            self.visitor.close()
        self.server.kill()

    def return_to(self, page: str = "guide") -> None:
        """The same browser, on a server that has been started again."""
        with suppress(OSError):
            self.visitor.close()
        self.visitor = Visitor(self.server.port, self.visitor.cookie)
        self.visitor.open(page)

    def show(self, kind: Started) -> None:
        """The page of a kind of job, with its tab or mode open."""
        self.visitor.open(kind.page)
        for key, value in kind.choices:
            if self.visitor.has(key):
                self.visitor.choose(key, value)

    def begin(self, kind: Started) -> None:
        """Start a job of that kind, if looking at its page did not."""
        self._tried += 1
        self.show(kind)
        kind.vary(self.visitor, self._tried)
        if kind.button:
            self.visitor.press_key(kind.button)

    def catch(self, kind: Started) -> list[int]:
        """Start a job and stop (SIGSTOP) the workers in the middle of it; returns them.

        Those that wait are stopped with the one at work: nothing outside tells them apart for certain.
        """
        for _ in range(3):
            workers = self._busy(kind)
            if workers and self.runs(kind):
                return workers
            for worker in workers:
                os.kill(worker, signal.SIGCONT)
        raise BrokenPromiseError(
            "the job was never seen at work: it did not start, or was over before a look"
        )

    def _ready(self) -> dict[int, int]:
        """The workers that have done their imports and wait, with the processor time that they took."""
        before = self.server.ticks()
        time.sleep(0.3)
        now = self.server.ticks()
        return {p: t for p, t in now.items() if t >= IMPORTED and t - before.get(p, 0) < 2}

    def _busy(self, kind: Started) -> list[int]:
        """Start a job; the workers, stopped, as soon as one of them works."""
        before: dict[int, int] = {}

        def ready() -> bool:
            before.update(self._ready())
            return bool(before)

        def at_work() -> bool:
            return any(t - before.get(p, t) >= TICKS for p, t in self.server.ticks().items())

        until(ready, AT_WORK_S)
        self.begin(kind)
        until(at_work, BEGUN_S)  # whether the job is under way, the page is asked afterwards
        workers = self.server.workers()
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        return workers

    def runs(self, kind: Started) -> bool:
        """Whether a job of that kind is under way, by what the pages say."""
        if not kind.own_button:  # no page names these two
            return True
        self.visitor.open(kind.page)
        return self.visitor.has(kind.stop)

    def follow_up(self, kind: Started) -> str:
        """Start the next job of a kind: ``finished`` at the next look, or ``accepted`` and then cancelled."""
        before = set(self.server.temporary.glob("*/job-*"))
        self.begin(kind)
        self.visitor.open(kind.page)
        if not self.end(kind):
            started = set(self.server.temporary.glob("*/job-*")) - before
            require(started, "the next job of the kind was not accepted")
            return "finished"
        return "accepted"

    def end(self, kind: Started) -> bool:
        """Cancel the job of a kind, if one waits or runs; whether one did."""
        running = self.visitor.has(kind.stop)
        if running:
            self.visitor.press_key(kind.stop)
        return running

    def finish(self, kind: Started) -> None:
        """Run a job of a kind to its end, and wait until the disk has its result."""
        self.begin(kind)
        require(self._done(kind.page, kind.stop, DONE_S), f"{kind.name} does not end in {DONE_S} s")
        self.visitor.open(kind.page)  # the page takes the result when it is drawn after the job's end
        require(until(self.saved_results, 2 * SAVED_S), f"the result of {kind.name} was not saved")

    def _done(self, page: str, stop: str, most_s: float) -> bool:
        """Whether the job ends in time that this button would end."""

        def over() -> bool:
            self.visitor.open(page)
            return not self.visitor.has(stop)

        return until(over, most_s)

    def lines(self, part: str) -> int:
        """How many notes on the page hold these words."""
        return sum(part in note.body.replace("\\", "") for note in self.visitor.every("alert"))

    def rename(self, name: str) -> None:
        """Edit the scenario, and wait until that stands on the disk: 5 s is the promise."""
        self.visitor.fill("text_input", "Scenario", name)
        require(until(lambda: self.saved_name() == name, SAVED_S), f"{name!r} was not saved in {SAVED_S} s")

    def name(self) -> str:
        """The scenario's name on the page."""
        field = self.visitor.find("text_input", "Scenario")
        return str(field.value if field.set_value else field.default)

    def give_fan(self) -> None:
        """Upload a model whose configurations take seconds to count."""
        self.upload(FAN, fan(WIDE))
        require(until(lambda: (self.place() / UPLOADS / FAN).is_file(), SAVED_S), "the upload was not saved")

    def upload(self, name: str, data: bytes) -> None:
        """Upload a model, as a person does: the list is opened, and the app closes it."""
        self.visitor.open("models")
        self.visitor.choose("model-open", False)
        self.visitor.choose("model-open", True)
        self.visitor.upload("model-file", name, data, 90)

    def place(self) -> Path:
        """The folder of the visitor's workspace; there is one visitor."""
        found = [p for p in (self.server.data / "workspaces").glob("*") if p.is_dir()]
        return found[0] if found else self.server.data / "none"

    def saved(self) -> Any:
        """What the disk says of the workspace; ``None`` if nothing that can be read."""
        try:
            return json.loads((self.place() / FILE).read_text())
        except (OSError, ValueError):
            return None

    def saved_name(self) -> str:
        """The scenario's name on the disk."""
        held = self.saved()
        return str(held["scenarios"][held["now"]["scenario"]]["text"].get("name", "")) if held else ""

    def saved_results(self) -> set[str]:
        """The files of finished results that the workspace on the disk names, and that are there."""
        held = self.saved() or {"results": [], "runs": []}
        named = {entry["file"] for entry in (*held["results"], *held["runs"])}
        return {name for name in named if (self.place() / RESULTS / name).is_file()}

    def check_page(self) -> None:
        """The page shows no exception and no note that something was lost."""
        shown = self.visitor.exceptions()
        require(not shown, f"the page shows an exception: {shown[:1]}")
        for part in BAD:
            require(not self.lines(part), f"the page says {part!r}")

    def check_gone(self, processes: list[int]) -> None:
        """None of these processes is left after 5 s."""
        if not until(lambda: not any(map(alive, processes)), ENDED_S):
            left = ", ".join(described(p) for p in processes if alive(p))
            raise BrokenPromiseError(f"{ENDED_S} s later there is still {left}")


def _quick(name: str) -> str:
    """A shipped scenario, its runs so small that they end in seconds; as JSON, which YAML contains."""
    data = scenario_to_mapping(load_scenario(scenario_path(name)))
    return json.dumps({**data, "simulation": {"jobs": 100, "replications": 2}})


def fan(wide: int) -> bytes:
    """A model of one task, ``wide`` tasks side by side, and one task, as JSON."""
    names = [f"t{i}" for i in range(wide + 2)]
    ends = [(names[0], n) for n in names[1:-1]] + [(n, names[-1]) for n in names[1:-1]]
    graph = {
        "directed": True,
        "nodes": [{"id": n, "compute_ms": 1.0} for n in names],
        "edges": [{"source": a, "target": b, "bytes": 1000} for a, b in ends],
    }
    return json.dumps(graph).encode()
