"""The table of the attacks: run each, within a time; say what held; print it in Markdown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

Held = Literal["yes", "no", "not tried here"]
LONGEST = 240  # characters of a reason


class BrokenPromiseError(Exception):
    """What must hold does not; the text says what was seen instead."""


class NotTriedHereError(Exception):
    """The attack is not possible on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One row: what is done, what must hold, and the function that does it and looks.

    The function returns what it saw, for the table (empty if there is nothing to add), and raises
    :class:`BrokenPromiseError` or :class:`NotTriedHereError`.
    """

    name: str
    promise: str
    run: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attack ended."""

    name: str
    promise: str
    held: Held
    seconds: float
    seen: str = ""


Group = Callable[[], AbstractContextManager[Iterable[Attack]]]


def require(holds: object, otherwise: str) -> None:
    """Raise :class:`BrokenPromiseError` unless something holds."""
    if not holds:
        raise BrokenPromiseError(otherwise)


def attempt(attack: Attack) -> Outcome:
    """Run one attack; an error of any kind means that the promise does not hold.

    >>> attempt(Attack("a", "b", lambda: "")).held
    'yes'
    >>> found = attempt(Attack("a", "b", lambda: str(1 // 0)))
    >>> found.held, found.seen
    ('no', 'ZeroDivisionError: integer division or modulo by zero')
    """
    begun = time.monotonic()
    held: Held = "yes"
    try:
        seen = attack.run()
    except NotTriedHereError as why:
        held, seen = "not tried here", str(why)
    except BrokenPromiseError as why:
        held, seen = "no", str(why)
    except Exception as error:  # whatever goes wrong in an attack must not end the programme
        held, seen = "no", f"{type(error).__name__}: {error}"
    return Outcome(attack.name, attack.promise, held, time.monotonic() - begun, _line(seen))


def run_groups(
    groups: Sequence[Group], most_s: float, say: Callable[[str], None] = print, together: int = 1
) -> list[Outcome]:
    """Run all attacks of all groups, each group with what it needs; one line per attack as it ends.

    After ``most_s`` seconds no further attack begins: those left count as not held. ``together`` groups
    run at a time.
    """
    end = time.monotonic() + most_s
    with ThreadPoolExecutor(together) as threads:
        found = threads.map(lambda group: list(_run_group(group, end, say)), groups)
        return [outcome for outcomes in found for outcome in outcomes]


def _run_group(group: Group, end: float, say: Callable[[str], None]) -> Iterator[Outcome]:
    try:
        with group() as attacks:
            for attack in attacks:
                late = time.monotonic() >= end
                outcome = _too_late(attack) if late else attempt(attack)
                say(output(outcome))
                yield outcome
    except Exception as error:  # the server of a group does not start or does not end
        name = getattr(group, "__name__", "group")
        outcome = Outcome(name, "it can be attacked", "no", 0.0, _line(f"{error}"))
        say(output(outcome))
        yield outcome


def _too_late(attack: Attack) -> Outcome:
    return Outcome(attack.name, attack.promise, "no", 0.0, "the time was over before")


def output(outcome: Outcome) -> str:
    """One line about an outcome.

    >>> told(Outcome("kill -9", "work is kept", "no", 1.25, "it is gone"))
    'NO     1.2 s  kill -9: it is gone'
    """
    seen = f": {outcome.seen}" if outcome.seen else ""
    mark = {"yes": "held", "no": "NO", "not tried here": "-"}[outcome.held]
    return f"{mark:<5}{outcome.seconds:>5.1f} s  {outcome.name}{seen}"


def all_held(outcomes: Sequence[Outcome]) -> bool:
    """Whether there is an outcome and none says that a promise does not hold."""
    return bool(outcomes) and all(outcome.held != "no" for outcome in outcomes)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The table.

    >>> print(markdown([Outcome("kill -9", "work is kept", "yes", 1.25)]))
    | attack | must hold | held | s |
    |---|---|---|---:|
    | kill -9 | work is kept | yes | 1.2 |
    """
    rows = ["| attack | must hold | held | s |", "|---|---|---|---:|"]
    for o in outcomes:
        held = f"**{o.held}**" if o.held == "no" else o.held
        cells = (o.name, o.promise, f"{held}: {o.seen}" if o.seen else held, f"{o.seconds:.1f}")
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(rows)


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]
