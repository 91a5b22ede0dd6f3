"""What a family of jobs brings to the rooms that serve all: each declares it once, as a :class:`Family`.

What a family names stands as ``module:name`` (:func:`nona.core.registry.load`): a command or a page imports
only the family that it serves, and the rooms below the families import none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from nona.core.registry import load

if TYPE_CHECKING:
    from nona.core.document import Document


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page of the app.

    Parameters
    ----------
    name, title, icon
        Its name in the address, its title, its icon.
    question
        The question that it answers.
    takes
        Place of the function that takes a table that is dropped on the page; it refuses others.
    """

    name: str
    title: str
    icon: str
    question: str
    takes: str = ""

    @property
    def file(self) -> str:
        """The page's file, by which links and callbacks name it."""
        return f"pages/{self.name}.py"


@dataclass(frozen=True, slots=True)
class TaskKind:
    """One kind of job that the app runs in a worker process.

    Parameters
    ----------
    name
        Key of a job and its result.
    noun
        Name for people, as in "Cancel the …".
    parts
        Top-level parts of the scenario that the result depends on: the name of a scenario changes no
        placement, for example. Empty: the result depends on no scenario.
    run
        The function that does it, as ``module:function``, called with the job's description and a
        :class:`~nona.app.tasks.context.JobContext`; it returns a :class:`~nona.core.document.Document`, whose
        type is its annotation. As text, so that only a worker imports it before there is a result.
    quick
        True if it takes seconds whatever the scenario: it has places of its own, so that it never waits for
        work that takes minutes.
    """

    name: str
    noun: str
    parts: tuple[str, ...]
    run: str
    quick: bool = False

    def task(self) -> Callable[..., Document]:
        """Import the function's module, and return the function."""
        function: Callable[..., Document] = load(self.run)
        return function

    def read(self, data: Mapping[str, Any]) -> Document:
        """Return the result of a job of this kind, from the JSON that its worker sent."""
        of: type[Document] = get_type_hints(self.task())["return"]
        return of.from_json(data)


@dataclass(frozen=True, slots=True)
class ResultKind:
    """One kind of result that people save and compare.

    Parameters
    ----------
    name, noun
        Key of the kind, and its name for people.
    result
        Place of the type of its result, a :class:`~nona.core.document.Document`.
    facts
        Place of what lists and searches show of a result, and of results beside each other
        (:class:`nona.app.store.families.ResultFacts`).
    """

    name: str
    noun: str
    result: str
    facts: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code that is compiled before anybody waits for it.

    Parameters
    ----------
    name
        What it is called while it is compiled.
    run
        Place of the function that compiles it, called without arguments.
    sources
        Folder or file of its sources, from the top of the checkout: it is compiled anew where they change.
    core
        Further sources, whose change makes all compiled code anew.
    last
        True where all other code is compiled first: few people need it.
    """

    name: str
    run: str
    sources: str
    core: tuple[str, ...] = ()
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What one family brings; all but the name may be empty.

    Parameters
    ----------
    name
        Name of its room.
    pages
        Its pages, in the order of the side bar.
    commands
        Places of its commands, each a class of options or a group.
    tasks
        Its kinds of jobs in the app.
    saved
        Its kinds of results in Runs.
    styles
        Places of its registries: strategies that have a look on charts.
    compiled
        What is compiled for it.
    keys
        Top-level keys of its part of a scenario.
    unknown
        Place of a function of a scenario's data, which yields one line for each name in that part that
        stands for nothing.
    messages
        Place of a function of a scenario and its sources, which returns the messages that the family sends
        over each link, by the link's name; the scenario has the family's part under the family's name.
    """

    name: str
    pages: tuple[PageEntry, ...] = ()
    commands: tuple[str, ...] = ()
    tasks: tuple[TaskKind, ...] = ()
    saved: tuple[ResultKind, ...] = ()
    styles: tuple[str, ...] = ()
    compiled: tuple[Compiled, ...] = ()
    keys: tuple[str, ...] = ()
    unknown: str = ""
    messages: str = ""


@cache
def families() -> tuple[Family, ...]:
    """Return all families, in the order of lists (:mod:`nona.families`)."""
    return tuple(load(place) for place in load("nona.families:FAMILIES"))
