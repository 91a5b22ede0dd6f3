"""How long commands and the app's first page take to start, as ratios to importing NumPy and pydantic.

Every command runs in turn in a process of its own; the app's time is from the start of a cold server until
its first page stands. A target in seconds is for a machine on which the import takes 0.11 s.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from benchmarks.app_server import server
from benchmarks.machine import in_turn, look, verdict
from benchmarks.visitor import Visitor

IMPORT = "import of NumPy and pydantic"
TARGETS_S = {
    "--version": 0.3,
    "models": 0.4,
    "inspect resnet18": 0.8,
    "simulate slides_example --jobs 200 --replications 1": 1.5,
}
FIRST_PAGE, FIRST_PAGE_S = "the app's first page", 4.0
USUAL_S, REPEATS = 0.11, 5


def main() -> int:
    """Print seconds and ratios; the exit status is the number of targets that are missed."""
    looks = [look()]
    work: dict[str, Callable[[], float]] = {IMPORT: lambda: _run("-c", "import numpy, pydantic")}
    work |= {name: lambda name=name: _run("-m", "nona", *name.split()) for name in TARGETS_S}
    work[FIRST_PAGE] = _first_page
    for call in work.values():
        call()  # files are read from disk once
    found = in_turn(work, REPEATS)
    looks.append(look())
    targets = {**TARGETS_S, FIRST_PAGE: FIRST_PAGE_S}
    unit, missed = found[IMPORT], 0
    for name, seconds in found.items():
        most = targets.get(name, USUAL_S) / USUAL_S
        missed += name in targets and seconds / unit > most
        print(f"{name:<55} {seconds:6.2f} s   ratio {seconds / unit:5.1f}   target {most:5.1f}")
    print(verdict(looks))
    return missed


def _run(*arguments: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def _first_page() -> float:
    begin = time.perf_counter()
    with server() as (url, _):
        visitor = Visitor(int(urlsplit(url).port or 0))
        visitor.open()
        seconds = time.perf_counter() - begin
        visitor.close()
    return seconds


if __name__ == "__main__":
    sys.exit(main())
