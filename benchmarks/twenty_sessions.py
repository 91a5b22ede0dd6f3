"""Twenty people at once: how long page changes take, who is answered when, what memory that takes.

The app runs in a server of its own. Every session connects by Streamlit's own protocol, starts a
simulation of five sample models on 80 servers, and goes from page to page meanwhile, with pauses as a reader
makes them. A page change counts from the request until the server has sent the whole page; what a browser
spends on drawing is not in it. Printed are the page changes, how long every simulation waited and ran,
whether all were answered, and the memory of server and workers before, at the peak, and after all sessions
have left.

Run it with ``python -m benchmarks.twenty_sessions [--sessions 20] [--minutes 0] [--jobs 20000]``; it needs
Linux's ``/proc``. With ``--minutes 60`` every session that is done leaves and another visitor takes
its place, until the time is over; the memory is printed as it goes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.app_server import server
from benchmarks.app_visitor import Visitor
from nona.app.session.opening import VARIABLE
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.scenario.sample_files import scenario_path

SCENARIO, REPLICATIONS = "five_models_80_servers", 4
PAGES = ("", "models", "contraction", "cluster", "workload", "placement", "simulation", "validation", "guide")
PAUSE_S = (1.5, 4.5)  # between two page changes of one reader
TARGET_S, SETTLE_S, LOOK_S, SAY_S = 1.0, 150.0, 1.0, 300.0  # Streamlit keeps a lost session for 120 s
MOST_WAIT_S = 3600.0


def cpu_s(process: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Told:
    """What one session saw: seconds of its page changes, of waiting and of running; what went wrong."""

    number: int
    changes: list[tuple[str, float]] = field(default_factory=list)
    waited_s: float = 0.0
    ran_s: float = 0.0
    answered: bool = False
    repeated: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class Memory:
    """MiB of the server and of all its other processes (shared pages in equal parts), and their number."""

    server: float
    others: float
    processes: int

    @classmethod
    def of(cls, process: int) -> Memory:
        """The memory now."""
        found = [pss for child in _family(process) if (pss := _pss(child))]
        return cls(_pss(process), sum(found), len(found))

    def __str__(self) -> str:
        return (
            f"server {self.server:.0f} MiB, {self.processes} other processes {self.others:.0f} MiB, "
            f"together {self.server + self.others:.0f} MiB"
        )


def _pss(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _family(process: int) -> Iterator[int]:
    """The children of a process, and theirs."""
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text(encoding="ascii").split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from _family(child)


def scenario_file(folder: Path, jobs: int) -> Path:
    """The scenario that every session starts with, as a file."""
    data = scenario_to_mapping(load_scenario(scenario_path(SCENARIO)))
    data["simulation"] = {**data.get("simulation", {}), "jobs": jobs, "replications": REPLICATIONS}
    path = folder / "scenario.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


async def visit(url: str, number: int, output: list[Told], draw: random.Random) -> None:
    """One person: opens the app, starts a simulation, reads on until it is done, and leaves."""
    mine = Told(number)
    output.append(mine)
    visitor = Visitor(url)
    try:
        await visitor.open("simulation")
        await visitor.press("run-simulate")
        await _read_on(visitor, mine, draw)
        mine.changes.append(("simulation", await visitor.go("simulation")))
        mine.answered = any(text.startswith("Run 1 · ") for text in visitor.texts)
    except (TimeoutError, OSError, KeyError) as error:
        mine.failures.append(f"{type(error).__name__}: {error}")
    finally:
        mine.failures += visitor.failures
        mine.repeated = visitor.repeated
        await visitor.close()


async def _read_on(visitor: Visitor, mine: Told, draw: random.Random) -> None:
    """Change pages until the simulation has ended."""
    begin = now = time.perf_counter()
    while now - begin < MOST_WAIT_S and await _goes_on(visitor):
        pause_ends = time.perf_counter() + draw.uniform(*PAUSE_S)
        while visitor.job and (now := time.perf_counter()) < pause_ends:
            if visitor.job == "waiting":
                mine.waited_s = now - begin
            await asyncio.sleep(0.1)
        page = draw.choice(PAGES)
        mine.changes.append((page or "overview", await visitor.go(page)))
    mine.ran_s = time.perf_counter() - begin - mine.waited_s


async def _goes_on(visitor: Visitor) -> bool:
    """Whether the simulation waits or runs; the side bar is empty for a moment as one becomes the other."""
    for _ in range(2):
        if visitor.job:
            return True
        await asyncio.sleep(1.0)
        await visitor.go("simulation")
    return bool(visitor.job)


async def load(url: str, process: int, sessions: int, minutes: float) -> tuple[list[Told], Memory, Memory]:
    """All sessions; what they saw, the memory before and at its peak."""
    output: list[Told] = []
    before = peak = Memory.of(process)
    begin = said = time.perf_counter()
    draw = random.Random(1)
    there = {asyncio.create_task(visit(url, n, output, draw)) for n in range(sessions)}
    while there:
        await asyncio.sleep(LOOK_S)
        now = await asyncio.to_thread(Memory.of, process)
        if now.server + now.others > peak.server + peak.others:
            peak = now
        there = {task for task in there if not task.done()}
        passed = time.perf_counter() - begin
        while len(there) < sessions and passed < 60 * minutes:
            there.add(asyncio.create_task(visit(url, len(output), output, draw)))
            await asyncio.sleep(0)  # it enters itself into the list
        if time.perf_counter() - said > SAY_S:
            said = time.perf_counter()
            print(f"  after {passed / 60:.0f} min, {len(output)} visitors: {now}", flush=True)
    return output, before, peak


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=20, help="how many are connected at a time")
    parser.add_argument("--minutes", type=float, default=0.0, help="how long those who leave are replaced")
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs of each simulation")
    parser.add_argument("--settle", type=float, default=SETTLE_S, help="seconds until the last look")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        given = {
            VARIABLE: str(scenario_file(folder, chosen.jobs)),
            "NONA_DATA_DIR": str(folder / "data"),
            "TMPDIR": str(folder),
        }
        with server(**given) as (url, process):
            asyncio.run(_warm(url))
            work_s, begin = cpu_s(process), time.perf_counter()
            output, before, peak = asyncio.run(load(url, process, chosen.sessions, chosen.minutes))
            work_s, took_s = cpu_s(process) - work_s, time.perf_counter() - begin
            print(f"{chosen.sessions} sessions on {os.cpu_count()} cores, {took_s:.0f} s in all")
            show(output)
            print(f"server: {work_s / took_s:.0%} of a core")
            print(f"memory before: {before}\nmemory at the peak: {peak}")
            time.sleep(chosen.settle)
            left = len(list(folder.glob("nona-job-*")))
            print(
                f"memory {chosen.settle:.0f} s after all have left: {Memory.of(process)}; {left} job folders"
            )


async def _warm(url: str) -> None:
    """Every page once, as on a server that has been up for a while."""
    visitor = Visitor(url)
    await visitor.open("simulation")
    for _ in range(2):
        for page in PAGES:
            await visitor.go(page)
    await visitor.close()
    await asyncio.sleep(5)


def show(output: list[Told]) -> None:
    """Page changes, fairness, and whether everyone was answered."""
    times = sorted(seconds for mine in output for _, seconds in mine.changes)
    p95, over = _percentile(times, 0.95), sum(t > TARGET_S for t in times)
    print(
        f"page changes: {len(times)}, median {statistics.median(times):.2f} s, 95th percentile {p95:.2f} s, "
        f"worst {times[-1]:.2f} s, over {TARGET_S:.0f} s: {over}"
    )
    for page in sorted({page for mine in output for page, _ in mine.changes}):
        some = sorted(seconds for mine in output for name, seconds in mine.changes if name == page)
        p95 = _percentile(some, 0.95)
        print(f"  {page:<12}{len(some):>5}  median {statistics.median(some):.2f}  p95 {p95:.2f}")
    print(f"answered: {sum(mine.answered for mine in output)} of {len(output)}")
    waits, runs = [mine.waited_s for mine in output], [mine.ran_s for mine in output]
    print(f"waited: {_spread(waits)}; ran: {_spread(runs)}")
    for mine in output[:40]:
        print(f"  session {mine.number:>2}: waited {mine.waited_s:5.1f} s, ran {mine.ran_s:5.1f} s")
    print(f"page changes asked for again: {sum(mine.repeated for mine in output)}")
    failures = [f"session {m.number}: {f}" for m in output for f in m.failures]
    print(f"failures: {len(failures)}")
    for line in failures[:20]:
        print(f"  FAILED {line}")


def _spread(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f} s, median {statistics.median(values):.1f} s"


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


if __name__ == "__main__":
    main()
