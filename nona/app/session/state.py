"""The state of one session: scenario, choices, jobs, results, runs. Not tied to widgets.

The scenario is immutable; an edit validates the whole and replaces it, or leaves it as it was and
keeps what was typed as a draft with its error. A result knows the scenario that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from nona.app.jobs.kinds import KINDS
from nona.app.server.browser import BrowserTabs
from nona.app.session.editing import History, PastScenario, PlacePath, ScenarioText, has, list_entries, put
from nona.app.session.live import LiveAnswers
from nona.app.session.share import Shared
from nona.app.session.uploads import Uploads
from nona.app.store.saved_results import MOST_NAME
from nona.core.errors import NonaError, ScenarioError
from nona.queries.report.report import SimulatedRun
from nona.queries.report.scenario_diff import change_text
from nona.scenario.file import dump_scenario, scenario_hash
from nona.scenario.gate import place_text
from nona.scenario.opening import edited
from nona.scenario.sample_files import shipped_scenario
from nona.scenario.schema import Scenario
from nona.scenario.words import title_of, words

T = TypeVar("T")


@dataclass
class Choices:
    """One frozen value of each type that a page keeps, and the lines that say what went wrong.

    A page defines the type, with defaults for a reader who has not chosen yet, and replaces the value as a
    whole. ``complaints`` holds the errors of each place that shows some, a line each.

    >>> @dataclass(frozen=True)
    ... class Size:
    ...     rows: int = 10
    >>> choices = Choices()
    >>> choices.get(Size).rows
    10
    >>> choices.keep(Size(20))
    >>> choices.get(Size).rows
    20
    """

    complaints: dict[str, str] = field(default_factory=dict)
    _kept: dict[type[Any], Any] = field(default_factory=dict)

    def keep(self, value: object) -> None:
        """Keep a value in place of the one of its type."""
        self._kept[type(value)] = value

    def find(self, kind: type[T]) -> T | None:
        """Return the value of that type, if one was kept."""
        value: T | None = self._kept.get(kind)
        return value

    def get(self, kind: type[T]) -> T:
        """Return the value of that type; its defaults if none was kept."""
        value = self.find(kind)
        return kind() if value is None else value


MOST = 8


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A finished simulation: ``data`` is the job's result; ``number`` counts from 1."""

    number: int
    name: str
    fingerprint: str
    job_id: str
    data: SimulatedRun

    @property
    def title(self) -> str:
        """Number and name in a line."""
        return f"{self.number} · {self.name}"

    @property
    def mark(self) -> str:
        """The label on every view of the run: its number and the fingerprint of its scenario."""
        return f"Run {self.number} · version {self.data.about.hash}"

    @property
    def made(self) -> str:
        """The time of the run, as text."""
        return self.data.about.made


@dataclass
class KeptRuns:
    """At most ``most`` runs; the oldest go first, but never the one that is pinned."""

    most: int = MOST
    kept: list[KeptRun] = field(default_factory=list)
    pinned: int | None = None
    _made: int = 0

    def add(self, fingerprint: str, job_id: str, data: SimulatedRun, name: str = "") -> KeptRun:
        """Keep a run; by default named after the scenario, or what changed since the run before."""
        last = self.kept[-1].data.scenario if self.kept else None
        self._made += 1
        run = KeptRun(self._made, name or run_name(last, data.scenario), fingerprint, job_id, data)
        self.kept.append(run)
        while len(self.kept) > self.most:
            self.kept.remove(next(k for k in self.kept if k.number != self.pinned))
        return run

    def find(self, number: int | None) -> KeptRun | None:
        """Return the run with this number, if it is kept."""
        return next((k for k in self.kept if k.number == number), None)

    def of_job(self, job_id: str) -> KeptRun | None:
        """Return the run of this job, if it is kept."""
        return next((k for k in self.kept if k.job_id == job_id), None)

    @property
    def made(self) -> int:
        """The number of runs made so far, also of those that are gone."""
        return self._made

    def restore(self, count: int, pinned: int | None) -> None:
        """Go on counting, and pin, as before a restart."""
        self._made = max([count, *(k.number for k in self.kept)])
        self.pinned = pinned if self.find(pinned) else None

    @property
    def baseline(self) -> KeptRun | None:
        """The pinned run, if there is one."""
        return self.find(self.pinned)


def run_name(last: Scenario | None, now: Scenario) -> str:
    """Name A run of the scenario ``now``: its name, and what changed since the run before."""
    if last is None or last.name != now.name:
        return now.name
    changes = change_text(last, now, longest=MOST_NAME - len(now.name) - 2)
    return f"{now.name}: {changes or 'unchanged scenario'}"


OPENED = "opening "
_BEHIND = (
    "Another tab has changed the scenario, so your change was not made. The page now shows the present "
    "scenario."
)
FIRST = "vision_language_8_servers"
"""The shipped scenario with which a session begins: schedulers that split differ clearly there."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a job, with the fingerprint of the scenario that it belongs to.

    ``scenario`` is that scenario, where this session started the job. ``data`` has the type that the job's
    :class:`~nona.core.family.TaskKind` names; ``name`` is what it is listed and saved as.
    """

    fingerprint: str
    data: Any
    job_id: str
    scenario: Scenario | None = None
    name: str = ""

    @property
    def scenario_name(self) -> str:
        """The name of its scenario; empty where that is not known."""
        about = getattr(self.data, "about", None)
        return self.scenario.name if self.scenario else str(getattr(about, "name", ""))


@dataclass(frozen=True, slots=True)
class Draft:
    """Something typed that is not valid yet, and why."""

    value: Any
    error: str


@dataclass
class AppState:
    """Everything that a session holds; pages read it and call its methods.

    ``screens`` are the tabs that show it. ``go_to`` is the page that a callback chose, ``on_way`` whether it
    was asked for. ``started_with`` is the hash of the scenario that the
    server was started with.
    """

    scenario: Scenario = field(default_factory=lambda: shipped_scenario(FIRST))
    uploads: Uploads = field(default_factory=Uploads)
    drafts: dict[PlacePath, Draft] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    job_scenarios: dict[str, Scenario] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    model: str = "resnet18"
    symbols: dict[str, dict[str, int]] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    kept: dict[str, Any] = field(default_factory=dict)
    offer: Shared | None = None
    history: History = field(default_factory=History)
    live: LiveAnswers = field(default_factory=LiveAnswers)
    runs: KeptRuns = field(default_factory=KeptRuns)
    collected_jobs: dict[str, str] = field(default_factory=dict)
    screens: BrowserTabs = field(default_factory=BrowserTabs)
    written: ScenarioText | None = field(default=None, repr=False, compare=False)
    go_to: str = ""
    on_way: bool = False
    started_with: str = ""
    notice: str = ""
    toast: str = ""
    toast_link: str = ""

    # -- tabs -----------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """Counts what makes the fields of the tab that runs show other values than before."""
        return self.screens.current.revision

    @revision.setter
    def revision(self, number: int) -> None:
        self.screens.current.revision = number

    def is_behind(self) -> bool:
        """Return whether another tab has changed the scenario since this tab's drawing; then set a notice."""
        if self.screens.current.behind:
            self.notice = _BEHIND
        return self.screens.current.behind

    # -- scenario -------------------------------------------------------------------------------

    def value(self, path: PlacePath) -> Any:
        """Return the value at ``path`` as the scenario file writes it (quantities with units)."""
        if self.written is None or self.written.scenario is not self.scenario:
            self.written = ScenarioText(self.scenario)
        return self.written.value_at(path)

    def shown(self, path: PlacePath) -> Any:
        """Return the first value of a widget for ``path``: the draft if there is one, else the value."""
        draft = self.drafts.get(path)
        return draft.value if draft else self.value(path)

    def edit(self, path: PlacePath, value: Any, part: str = "") -> bool:
        """Set the value at ``path``; an invalid one becomes a draft. Returns whether it was valid.

        ``part``: an optional part of the scenario that is there only while anything in it is set.
        """
        beside = {p: d for p, d in self.drafts.items() if p[:2] == path[:2] and p != path}
        unset = words(part).kind() if part else None
        problems: tuple[str, ...] = ()
        for others in (beside, {}) if beside else ({},):  # a second edit may be what makes the first valid
            data = self.scenario.model_dump(mode="json")
            if unset is not None and data[part] is None:
                data[part] = unset.model_dump(mode="json")
            if not has(data, path) or (self.screens.current.moved and any(isinstance(p, int) for p in path)):
                self.notice = _BEHIND
                return False
            for other, draft in others.items():
                put(data, other, draft.value)
            put(data, path, value)
            try:
                scenario = edited(self.scenario, data)
            except ScenarioError as error:
                problems = error.problems
                continue
            if unset is not None and getattr(scenario, part) == unset:
                scenario = scenario.model_copy(update={part: None})
            self._become(scenario, place_text(path))
            self.drafts = {p: d for p, d in self.drafts.items() if p != path and p not in others}
            self._forget_strangers()
            return True
        place = place_text(path)
        self.keep_draft(path, value, next((p for p in problems if p.startswith(place)), problems[0]))
        return False

    def change(self, path: PlacePath, value: Any) -> bool:
        """:meth:`edit` from elsewhere than the field: all fields show what holds then."""
        valid = self.edit(path, value)
        self.revision += 1
        return valid

    def _forget_strangers(self) -> None:
        """Drop drafts for the table of ``expert`` that no widget shows any more."""
        chosen = any(s.name == "expert" for s in self.scenario.schedulers)
        rows = self.scenario.labels if chosen else ()
        self.drafts = {p: d for p, d in self.drafts.items() if p[0] != "expert" or p[1] in rows}

    def keep_draft(self, path: PlacePath, value: Any, error: str) -> None:
        """Keep what was typed and is not valid, as a step to undo."""
        self.history.note(self._moment(), f"what was typed for {title_of(path)}")
        self.drafts[path] = Draft(value, error)
        self.screens.changed()

    def replace_list(self, path: PlacePath, entries: list[Any]) -> None:
        """Replace a whole list (rows were added or removed); raises if that is not valid."""
        data = self.scenario.model_dump(mode="json")
        put(data, path, entries)
        self._become(edited(self.scenario, data), place_text(path))
        self.drafts = {p: d for p, d in self.drafts.items() if p[: len(path)] != path}
        self._forget_strangers()
        self.revision += 1

    def adopt(self, scenario: Scenario) -> None:
        """Take a scenario as it is, in place of the present one."""
        self._become(scenario, f"{OPENED}{scenario.name}")
        self.drafts = {}
        self.revision += 1

    def apply(self, scenario: Scenario, what: str) -> None:
        """Take a changed copy of the scenario as one step to undo, which ``what`` names."""
        self._become(scenario, what)
        self.revision += 1

    def show_first_model(self) -> None:
        """Choose the first model of the workload for page Models."""
        if self.scenario.workload:
            self.model = self.scenario.workload[0].model

    @property
    def untouched(self) -> bool:
        """True while the user has changed nothing."""
        own = self.history.undone or self.history.redone or self.drafts or self.results or self.jobs
        return not own and not self.uploads.names()

    def undo(self) -> None:
        """Undo the last change of the scenario, if there is one, and the drafts typed with it."""
        self._return(self.history.undo(self._moment()))

    def redo(self) -> None:
        """Redo the change that was undone last."""
        self._return(self.history.redo(self._moment()))

    def _become(self, scenario: Scenario, place: str) -> None:
        if scenario != self.scenario:
            self.history.note(self._moment(), place)
            if scenario.models == self.scenario.models:  # large, and the history would hold every copy
                scenario = scenario.model_copy(update={"models": self.scenario.models})
            self._show(scenario)

    def _show(self, scenario: Scenario) -> None:
        self.screens.changed(list_entries(scenario) != list_entries(self.scenario))
        self.scenario, self.notice = scenario, ""

    def _moment(self) -> PastScenario:
        return PastScenario(self.scenario, dict(self.drafts), self.model)

    def _return(self, moment: PastScenario | None) -> None:
        if moment is not None:
            self._show(moment.scenario)
            self.drafts, self.model = dict(moment.drafts), moment.model
            self.revision += 1

    def dump(self) -> str:
        """Return the scenario as YAML."""
        return dump_scenario(self.scenario)

    def fingerprint(self, kind: str) -> str:
        """Hash of the parts of the scenario that a result of ``kind`` depends on; empty if on none."""
        parts = KINDS.find(kind).parts
        return scenario_hash(self.scenario, *parts) if parts else ""

    def notify(self, text: str, page: str = "", label: str = "") -> None:
        """Say in passing what a button did; ``label`` links to ``page``, e.g. ``scenario``."""
        self.toast, self.toast_link = text, f"[{label}]({page})" if page else ""

    # -- results --------------------------------------------------------------------------------

    def result_of(self, kind: str, of: type[T]) -> T | None:
        """Return the last result of ``kind``, if there is one of that type."""
        result = self.results.get(kind)
        return result.data if result is not None and isinstance(result.data, of) else None

    def is_stale(self, kind: str, fingerprint: str = "") -> bool:
        """Return whether the result belongs to an earlier scenario, or to another question.

        ``fingerprint``: that of the present question; empty: that of the scenario.
        """
        result = self.results.get(kind)
        return result is not None and result.fingerprint != (fingerprint or self.fingerprint(kind))

    def problem(self) -> str:
        """Return the first reason why the scenario cannot run as shown on the pages; empty if none."""
        for draft in self.drafts.values():
            return draft.error
        try:
            self.uploads.sources.check(self.scenario)
        except NonaError as error:
            return str(error)
        return ""
