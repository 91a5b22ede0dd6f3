"""Models read, costed and contracted once, in server threads; collections put off.

A prepared model of 20,000 operators is some 300,000 objects without a cycle. A full garbage collection
walks over all that live while every session waits, a quarter of a second for each such model, and Python
starts several while one is made. So none starts during work on a model. Once no page has run for a while
there is one, after which what lives is set aside (:func:`gc.freeze`) and later collections pass over it.
The next one in a quiet moment takes it back first, so nothing that is set aside is lost.

Prepared models are large graphs of small objects. To bring one of 20,000 operators over from another
process (14 MB) keeps the interpreter as busy as to cost and contract it here. A thread shares it with the
other sessions, a fraction of a millisecond at a time; what made them wait were garbage collections, which
:mod:`nona.app.models.loading` puts off. What parses foreign files or calls
Graphviz runs in guarded processes of its own, for which a thread here only waits.

A session's work is done in turn, one at a time; sessions work side by side, as many as there are turns.
So files that take the whole budget keep only the session waiting that opened them.

The page that asks waits too, but step by step: it shows what is going on, and it stops waiting when
its reader goes on to something else. The work is kept for when they come back.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from nona.app.jobs.fair_queue import FairQueue
from nona.app.models.dagview import Layout, lay_out_both
from nona.app.session.state import AppState
from nona.app.session.workspace import owner_key
from nona.app.tasks.checks import is_quick
from nona.cluster.hardware.device import devices, user_devices
from nona.cluster.hardware.executor import executor_class
from nona.core.errors import JobError, NonaError, reasons
from nona.models.cost.measured import MeasuredTable, read_measured
from nona.models.cost.options import CostOptions
from nona.models.graph.dag import Dag
from nona.models.graph.model import ModelGraph
from nona.models.graph.node_link import to_node_link
from nona.models.prepared import PreparedModel, prepare_model
from nona.queries.placement.enumeration import configuration_counts
from nona.queries.workflows.rows import given_graph
from nona.scenario.lookup import Sources, file_names, safe_name
from nona.scenario.sample_files import sample_names
from nona.scenario.schema import Scenario

QUIET_S, OFTEN_S, LATEST_S = 2.0, 600.0, 120.0
SWITCH_INTERVAL_S = (
    0.0005  # Python's own 5 ms make a click wait that long whenever it has let go of the interpreter
)
USUAL, NEVER = (700, 10, 10), 10**9  # Python's own thresholds; full collections off


class IdleCollector:
    """Full collections in quiet moments only.

    ``quiet_s``: how long no page may have run before a collection.
    ``latest_s``: after which time without a quiet moment Python's own collections are admitted again.
    ``often_s``: after which time pages that ran are reason enough for a collection.

    >>> idle_collector = IdleCollector(quiet_s=0.0)
    >>> with idle_collector.working():
    ...     gc.get_threshold()[2] == NEVER, idle_collector.collect(now=1e12)
    (True, False)
    >>> idle_collector.collect(now=1e12), gc.get_threshold()[2] == NEVER, gc.get_freeze_count() > 0
    (True, False, True)
    >>> gc.unfreeze()
    """

    def __init__(
        self, quiet_s: float = QUIET_S, latest_s: float = LATEST_S, often_s: float = OFTEN_S
    ) -> None:
        self._quiet_s, self._latest_s, self._often_s = quiet_s, latest_s, often_s
        self._lock = threading.Lock()
        self._busy, self._grown = 0, False
        self._active_s = self._collected_s = self._grew_s = time.monotonic()

    def note_activity(self) -> None:
        """Note that a page runs."""
        self._active_s = time.monotonic()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work that makes many objects which stay: no full collection inside. Threads may overlap."""
        with self._lock:
            self._busy += 1
            self._grown = True
            gc.set_threshold(*USUAL[:2], NEVER)
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                self._grew_s = time.monotonic()

    def collect(self, now: float) -> bool:
        """Collect if the moment is quiet and there is a reason; whether it did."""
        with self._lock:
            if self._busy:
                return False
            if now - self._active_s < self._quiet_s:
                if self._grown and now - self._grew_s > self._latest_s:
                    gc.set_threshold(*USUAL)
                return False
            if not self._grown and (
                self._active_s < self._collected_s or now - self._collected_s < self._often_s
            ):
                return False
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            gc.set_threshold(*USUAL)
            self._grown, self._collected_s = False, now
            return True

    def run(self, beat_s: float = 0.5) -> None:
        """Tidy for ever, as a thread of the server does."""
        while True:
            time.sleep(beat_s)
            self.collect(time.monotonic())


@st.cache_resource
def idle_collector() -> IdleCollector:
    """Return the one of this server, with its thread; threads of the server take short turns from now on."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    tidier = IdleCollector()
    threading.Thread(target=tidier.run, daemon=True, name="tidying").start()
    return tidier


T = TypeVar("T")
KEPT, AT_ONCE = 128, 4
RETRY_S = 20.0
WAIT_S, POLL_S = 0.25, 0.1
BUDGET_S = 60.0  # that a page waits for one step


class SharedCache:
    """Results by key, the most recently used ones; failures are kept for a moment only.

    >>> shared_cache = SharedCache()
    >>> shared_cache.get("six", lambda: 2 * 3).result(), shared_cache.get("six", lambda: 0).result()
    (6, 6)
    """

    def __init__(
        self,
        most: int = KEPT,
        at_once: int = AT_ONCE,
        retry_s: float = RETRY_S,
        working: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._most, self._retry_s, self._working = most, retry_s, working
        self._entries: OrderedDict[Hashable, tuple[Future[Any], float]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = FairThreadPool(at_once)

    def get(self, key: Hashable, make: Callable[[], Any], owner: str = "") -> Future[Any]:
        """Return the work of that key: under way, done, or put in line now among that of ``owner``."""
        with self._lock:
            future, begun = self._entries.get(key, (None, 0.0))
            if future is not None and _failed(future) and time.monotonic() - begun > self._retry_s:
                future = None
            if future is None:
                future, begun = Future(), time.monotonic()
                self._pool.submit(owner, partial(self._run, future, make))
            self._entries[key] = (future, begun)
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return future

    def _run(self, future: Future[Any], make: Callable[[], Any]) -> None:
        with self._working():
            try:
                future.set_result(make())
            except Exception as error:  # the caller gets it
                future.set_exception(error)


class FairThreadPool:
    """At most ``at_once`` pieces of work run, one of each owner; owners are served in turn.

    >>> done = threading.Event()
    >>> FairThreadPool(1).submit("a session", done.set)
    >>> done.wait(5)
    True
    """

    def __init__(self, at_once: int) -> None:
        self._queue = FairQueue[Callable[[], None]](at_once, each=1)
        self._lock = threading.Lock()

    def submit(self, owner: str, work: Callable[[], None]) -> None:
        """Run ``work`` in a thread, now or when it is the owner's turn."""
        with self._lock:
            self._queue.put(owner, work)
            self._start()

    def _start(self) -> None:
        while (work := self._queue.start()) is not None:
            threading.Thread(target=self._run, args=(work,), daemon=True, name="fair-pool").start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._queue.remove(work)
                self._start()


def _failed(future: Future[Any]) -> bool:
    return future.done() and future.exception() is not None


@st.cache_resource
def shared_cache() -> SharedCache:
    """Return the cache that all sessions of this server share."""
    return SharedCache(working=idle_collector().working)


def fetch(key: Hashable, make: Callable[[], T], doing: str) -> T:
    """Return or raise the outcome of ``make``, from the shared cache if it is there.

    A page that has to wait shows ``doing`` over an empty frame, and can be left at any moment. Outside
    a page this simply waits.

    Raises ``JobError`` when a page has waited for :data:`BUDGET_S`; the work goes on, and is there later.
    """
    in_page = get_script_run_ctx() is not None
    future: Future[T] = shared_cache().get(key, make, owner_key() if in_page else "")
    if not in_page:
        return future.result()
    wait([future], WAIT_S)
    if not future.done():
        _show_until(future, doing)
    return future.result()


def _show_until(future: Future[Any], doing: str) -> None:
    place, begin = st.empty(), time.monotonic()
    with place.container():
        line = st.empty()
        st.skeleton(height=180)
    while not future.done():
        seconds = time.monotonic() - begin
        if seconds > BUDGET_S:
            place.empty()
            raise JobError(
                f"{doing}: it takes longer than {BUDGET_S:.0f} s, the budget of a step, and continues; "
                "open this page again later, or take a smaller model."
            )
        line.caption(f"{doing} … {seconds:.0f} s" if seconds >= 1 else f"{doing} …")  # the run may end here
        wait([future], POLL_S)
    place.empty()


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A prepared model with the number of configurations of each sub-graph.

    ``configurations`` is ``None`` where counting takes more than a moment. ``key`` names all that
    the model was prepared from.
    """

    prepared: PreparedModel
    configurations: tuple[int, ...] | None
    key: str


def model_names(state: AppState) -> tuple[str, ...]:
    """Return uploaded model files, models inside the scenario, samples."""
    files = [n for n in state.uploads.names() if not n.lower().endswith((".csv", ".yaml", ".yml"))]
    return (*dict.fromkeys([*files, *state.scenario.models, *sample_names()]),)


def device_names(scenario: Scenario) -> tuple[str, ...]:
    """Return the catalogue's devices, then the scenario's own."""
    return (*dict.fromkeys([*devices(), *scenario.cluster.devices]),)


def load_graph(state: AppState, name: str, symbols: Mapping[str, int] | None = None) -> ModelGraph:
    """Return the graph called ``name`` as its file describes it; raises ``NonaError`` in one line.

    ``symbols`` are the sizes bound in it, by default those that the user gave in this session.
    """
    bound = tuple(sorted((state.symbols.get(name, {}) if symbols is None else symbols).items()))
    inline = {name: state.scenario.models[name]} if name in state.scenario.models else None
    folder = state.uploads.folder
    return fetch(
        ("graph", name, _content(state, name), bound),
        lambda: Sources(folder, confined=True).model(name, dict(bound), inline),
        "Reading the model",
    )


def load_model(state: AppState, name: str, device: str, rule: str) -> LoadedModel:
    """Return the model costed on ``device`` and contracted by ``rule``."""
    cost = state.scenario.cost
    return _load(state, load_graph(state, name), name, device, rule, CostOptions(cost.stack, cost.precision))


def load_row(state: AppState, index: int) -> LoadedModel:
    """Return the model of one row of the workload as its queries run, with times on the first group's GPU."""
    scenario = state.scenario
    row, cost = scenario.workload[index], scenario.cost
    graph = load_graph(state, row.model, row.symbols)
    options = CostOptions(cost.stack, cost.precision, row.batch)
    return _load(state, graph, row.model, scenario.cluster.servers[0].gpu, scenario.contraction, options)


def load_measured(state: AppState) -> tuple[str, MeasuredTable] | None:
    """Return the scenario's table of measured times with a digest of its text.

    ``None`` when it names none.
    """
    name = state.scenario.cost.measured
    if name is None:
        return None
    data = state.uploads.sources.read(name)
    digest = _digest(data)
    return digest, _measured(digest, data)


def _load(
    state: AppState, graph: ModelGraph, name: str, device: str, rule: str, options: CostOptions
) -> LoadedModel:
    key = f"{name}\n{_content(state, name)}\n{sorted(graph.symbols.items())}"
    cost = state.scenario.cost
    own = json.dumps(state.scenario.cluster.devices, sort_keys=True)
    digest, measured = load_measured(state) or ("", None)
    mark = _digest(repr((key, device, own, rule, options, digest, cost.given.get(name))).encode())

    def prepare() -> LoadedModel:
        devices = user_devices(json.loads(own))
        executor = executor_class(device, devices)
        prepared = prepare_model(
            given_graph(graph, name, cost, devices), (executor,), options, rule, measured, devices
        )
        counts = (
            tuple(configuration_counts(prepared.tasks, prepared.decomposition))
            if is_quick(prepared)
            else None
        )
        return LoadedModel(prepared, counts, mark)

    return fetch(("loaded", mark), prepare, "Costing and contracting the model")


def _content(state: AppState, name: str) -> str:
    """Return a text that distinguishes models of the same name."""
    if name in state.scenario.models:
        return _digest(json.dumps(state.scenario.models[name], sort_keys=True).encode())
    return "sample" if name in sample_names() else _digest(state.uploads.sources.read(name))


def layouts_of(dag: Dag) -> tuple[Layout, Layout]:
    """Return the drawings of a graph for a wide and for a narrow panel, kept by its edges."""
    key = _digest(repr(dag.successors).encode())
    return fetch(("layout", key), lambda: lay_out_both(dag), "Drawing the graph")


def portable(state: AppState) -> Scenario:
    """Return the scenario with uploaded models inside it, so that it travels as one file."""
    models = dict(state.scenario.models)
    for row in state.scenario.workload:
        if row.model in state.uploads.names() and row.model not in models:
            models[row.model] = to_node_link(load_graph(state, row.model, row.symbols))
    return state.scenario.model_copy(update={"models": models})


def separate_files(scenario: Scenario) -> tuple[str, ...]:
    """CSV files that the scenario names and that its own file cannot hold."""
    return tuple(file_names(scenario, "trace", "measured", "times", "throughputs", "elastic"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@st.cache_resource(max_entries=16, show_spinner="Reading the measured times")
def _measured(digest: str, _data: bytes) -> MeasuredTable:
    return read_measured(_data)


UPLOAD_ERROR = "upload-error"  # the complaint about a model file


@dataclass(frozen=True, slots=True)
class UploadChoice:
    """An upload that is not read yet, and the model before it.

    ``replaced`` is what a file of the same name held; ``again`` unfolds the upload once more, for the reason
    why a file was not taken; ``asks`` is the upload in single precision that is
    asked about.
    """

    unread: str = ""
    before: str = ""
    replaced: bytes | None = None
    again: bool = False
    asks: str = ""


def take_model(state: AppState, name: str, data: bytes) -> bool:
    """Make an uploaded file the session's model, to be read by page Models; whether there was room."""
    choosing, name = state.choices.get(UploadChoice), safe_name(name)
    state.choices.complaints.pop(UPLOAD_ERROR, None)
    replaced = state.uploads.sources.read(name) if name in state.uploads.names() else None
    try:
        state.uploads.add(name, data)
    except NonaError as error:
        state.choices.complaints[UPLOAD_ERROR] = "\n".join(reasons(error))
        return False
    state.choices.keep(replace(choosing, unread=name, before=state.model, replaced=replaced))
    state.model = name
    return True
