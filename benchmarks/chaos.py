"""Kill, fill, damage and interrupt a running ``nona app``, and print what of its promises held.

Run it with ``python -m benchmarks.chaos [--group NAME] [--only WORD] [--minutes 10]``; it needs Linux's
``/proc``. Rows appear as they end, then the whole table in Markdown; the exit status is 1 if a promise does
not hold. evidence/notebook/robustness.md says what each row means.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps

from benchmarks import chaos_disk, chaos_endings, chaos_kills
from benchmarks.chaos_table import Attack, Group, all_held, markdown, run_groups
from nona.queries.simulation.compiled.preparation import warm

GROUPS: tuple[Group, ...] = (
    chaos_kills.placed,
    chaos_kills.planned,
    chaos_kills.spoken,
    chaos_kills.serverless,
    chaos_kills.training,
    chaos_kills.elastic,
    chaos_endings.signals,
    chaos_disk.disk,
)
TOGETHER = 2  # groups at a time: much of an attack is waiting


def only(word: str, groups: Sequence[Group]) -> list[Group]:
    """The groups with those of their attacks whose name holds a word."""

    def chosen(group: Group) -> Callable[[], AbstractContextManager[Iterable[Attack]]]:
        @wraps(group)  # its name stands in the table if it cannot begin
        @contextmanager
        def some() -> Iterator[Iterable[Attack]]:
            with group() as attacks:
                yield (a for a in attacks if word in a.name)

        return some

    return [chosen(group) for group in groups]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all attacks; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="attacks whose name holds this")
    parser.add_argument("--group", default="", metavar="NAME", help="this group of attacks alone")
    parser.add_argument("--minutes", type=float, default=10.0, help="no attack begins later than that")
    chosen = parser.parse_args(arguments)
    groups = [g for g in GROUPS if chosen.group in getattr(g, "__name__", "")]
    warm()  # else a process that compiles the engine outlives its worker, as it should
    outcomes = run_groups(
        only(chosen.only, groups), 60 * chosen.minutes, lambda line: print(line, flush=True), TOGETHER
    )
    held = sum(o.held == "yes" for o in outcomes)
    print(f"\n{markdown(outcomes)}\n\n{held} of {len(outcomes)} held; {os.cpu_count()} cores.")
    return 0 if all_held(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
