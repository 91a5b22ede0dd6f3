"""What each tab of a browser shows of the session that all its tabs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streamlit.runtime.scriptrunner import get_script_run_ctx

MOST = 32  # tabs that are remembered; each reload of a page is a new one


@dataclass
class Screen:
    """One tab.

    ``revision`` counts what makes its fields show other values than before; ``drawn`` is that of the last
    page that was drawn to its end. ``behind`` holds from a change in another tab until then, ``moved`` from
    one after which other rows may stand in the places that this tab shows.
    """

    revision: int = 0
    drawn: int = 0
    behind: bool = False
    moved: bool = False


def running_tab() -> str:
    """What distinguishes the tab whose script runs in this thread; empty outside of any."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


@dataclass
class Screens:
    """The tabs of a session by what distinguishes them, the most recently used last.

    >>> tab = ["left"]
    >>> screens = Screens(lambda: tab[0])
    >>> screens.here.revision, screens.here.behind
    (0, False)
    >>> tab[0] = "right"
    >>> screens.here.revision
    1
    >>> screens.changed()
    >>> tab[0] = "left"
    >>> screens.here.revision, screens.here.behind
    (1, True)
    """

    tab: Callable[[], str] = running_tab
    _held: dict[str, Screen] = field(default_factory=dict)

    @property
    def here(self) -> Screen:
        """The tab whose script runs; outside of any the one that was used last."""
        name = self.tab()
        if not name and self._held:
            return next(reversed(self._held.values()))
        screen = self._held.pop(name, None) or self._made()
        self._held[name] = screen  # the most recently used comes last
        for old in list(self._held)[:-MOST]:
            del self._held[old]
        return screen

    def changed(self, moved: bool = False) -> None:
        """Note that the tab that runs has changed what the fields of the others show, or ``moved`` rows."""
        here = self.here
        for screen in list(self._held.values()):
            if screen is not here:
                screen.revision, screen.behind = screen.revision + 1, True
                screen.moved = screen.moved or moved

    def drawn(self) -> None:
        """Note that the page of the tab that runs was drawn to its end."""
        here = self.here
        here.drawn, here.behind, here.moved = here.revision, False, False

    def _made(self) -> Screen:
        latest = max((s.revision for s in self._held.values()), default=-1) + 1
        return Screen(latest, latest)
