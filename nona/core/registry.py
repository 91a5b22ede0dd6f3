"""Registries: items of one kind by name; the declaration of a strategy, and its style on charts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeVar

from nona import app_root
from nona.core.errors import NonaError
from nona.core.options import Option, PolicyOption, checked


def load(place: str) -> Any:
    """Return the object at ``module:name``; parts after a dot are attributes, a part with ``()`` is called.

    Without a name, the module.

    >>> load("nona.cluster.hardware.cluster:Network().discipline")
    'fifo'
    """
    module, _, path = place.partition(":")
    if module.startswith("evidence."):  # beside the package: in the checkout, or what the wheel has of it
        root = str(app_root())
        sys.path += [root] if root not in sys.path else []
    value: Any = import_module(module)
    for part in filter(None, path.split(".")):
        value = getattr(value, part.removesuffix("()"))
        value = value() if part.endswith("()") else value
    return value


@dataclass(frozen=True, slots=True)
class ChartStyle:
    """The style of a strategy on charts: ``colour`` as ``#rrggbb``; ``dash`` and ``symbol`` as in Plotly."""

    colour: str
    dash: str
    symbol: str


class HasName(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """The name that people type."""


T = TypeVar("T", bound=HasName)


class Registry(Mapping[str, T]):
    """A mapping from name to item: the shipped items, and those registered in this process.

    Parameters
    ----------
    kind : str
        The kind of the items, in one or two words that begin an error: ``Scheduler``.
    items : iterable of T, or mapping of str to str, optional
        The shipped items; or name → ``module:name`` (:func:`load`), imported at first use.
    error : callable, optional
        Makes the error for an unknown name and for a taken one.

    >>> from types import SimpleNamespace
    >>> tools = Registry("Tool", [SimpleNamespace(name="saw")])
    >>> with tools.registered(SimpleNamespace(name="drill")):
    ...     list(tools)
    ['saw', 'drill']
    >>> tools.find("drill")
    Traceback (most recent call last):
    nona.core.errors.NonaError: Tool 'drill' is not known; choose from saw.
    """

    def __init__(
        self,
        kind: str,
        items: Iterable[T] | Mapping[str, str] = (),
        error: Callable[[str], NonaError] = NonaError,
    ) -> None:
        self._kind, self._error = kind, error
        self._items: dict[str, T | str] = {}
        if isinstance(items, Mapping):
            self._items |= items
        else:
            for item in items:
                self.register(item)

    def __getitem__(self, name: str) -> T:
        item = self._items[name]
        if isinstance(item, str):
            item = self._items[name] = self._loaded(name, item)
        return item

    def _loaded(self, name: str, place: str) -> T:
        thing: T = load(place)
        if thing.name != name:
            raise self._error(f"{self._kind} {name!r}: {place} is called {thing.name!r}; use one name.")
        return thing

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def find(self, name: str) -> T:
        """Return the item of that name.

        Parameters
        ----------
        name : str
            The item's name.

        Returns
        -------
        T
            The item.

        Raises
        ------
        NonaError
            If the name is unknown; the message lists the known ones. The registry chooses the subclass.
        """
        if name not in self._items:
            raise self._error(f"{self._kind} {name!r} is not known; choose from {', '.join(self._items)}.")
        return self[name]

    def register(self, item: T) -> T:
        """Add an item under its own name, for this process.

        Parameters
        ----------
        item : T
            An object with an attribute ``name``.

        Returns
        -------
        T
            The item, so that ``register`` may be a decorator.

        Raises
        ------
        NonaError
            If the name is taken.
        """
        if item.name in self._items:
            raise self._error(
                f"{self._kind} {item.name!r}: the name is taken; "
                f"give the new {self._kind.lower()} another one."
            )
        self._items[item.name] = item
        return item

    def unregister(self, name: str) -> None:
        """Remove the item of that name; raise ``NonaError`` for an unknown name."""
        self.find(name)
        del self._items[name]

    @contextmanager
    def registered(self, *items: T) -> Iterator[None]:
        """Register items within the ``with`` block only."""
        with ExitStack() as added:
            for item in items:
                self.register(item)
                added.callback(self.unregister, item.name)
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """The declaration of a scheduler or policy, for users and for lists.

    ``name``, ``title``: in the scenario file, and in headings.
    ``summary``, ``source``, ``adaptation``: one line each: its rule, its publication, and the changes and
        assumptions of this program.
    ``settings``: its options by name.
    ``style``: on charts; without one it gets a spare style.
    """

    called: ClassVar[str] = "Policy"

    name: str
    summary: str
    source: str
    adaptation: str
    title: str = ""
    settings: Mapping[str, PolicyOption] = field(default_factory=dict)
    style: ChartStyle | None = None

    @property
    def defaults(self) -> dict[str, Option]:
        """The default of every option, by name."""
        return {name: setting.default for name, setting in self.settings.items()}

    def chosen(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each option, checked; raise ``SimulationError`` for a wrong one."""
        return checked(f"{self.called} {self.name!r}", self.settings, options)
