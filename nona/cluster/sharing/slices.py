"""MIG slices, created at legal places on demand or fixed beforehand; states of a board.

A state is which instances exist and which of them are held. Many invokers share one automaton, whose
states are worked out when they first occur and kept, so that a step costs a look-up.

Rules. A slice of k vGPUs is an instance whose profile has k compute slices. An idle one is used as it is.
Otherwise a new one is made at a legal start, which may need idle instances to be destroyed, never one that
is held. Among starts the one that leaves most room for the largest slice wins, then for the next smaller
and so on, room being how many of that size alone could still be placed beside what is held; then the one
that destroys fewest idle instances; then the lowest. With ``fixed`` nothing is made or destroyed, and the
smallest idle instance of at least k serves.

Source of the placements: NVIDIA MIG user guide, see :mod:`nona.cluster.hardware.mig`; the choice is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from nona.cluster.hardware.mig import MigBoard, MigLayout, Slice, SliceProfile, board
from nona.cluster.sharing.pool import BatchConfiguration, Gpu, GpuPart, Invoker, SharingMode
from nona.core.errors import SimulationError
from nona.core.registry import ChartStyle


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """One instance on the memory axis: its profile, where it starts, and whether a batch holds it."""

    start: int
    profile: str
    held: bool = False


Instances = tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class SliceChange:
    """The outcome of taking a slice: the instances after it, and the one that the batch holds."""

    after: Instances
    slots: int
    vgpus: int
    profile: str
    made: bool


@dataclass(frozen=True, slots=True, eq=False)
class BoardState:
    """One state.

    ``steps``: size → step, for each size that can be had.
    ``free``, ``stranded``: compute slices that are not held, and of these the ones beyond the most that
        slices placed at will beside the held ones could cover.
    ``after_release``: slots of a held instance → the instances once it is idle.
    """

    instances: Instances
    free: int
    stranded: int
    steps: Mapping[int, SliceChange]
    after_release: Mapping[int, Instances]


@dataclass(frozen=True, eq=False)
class BoardStates:
    """The states of a board, by their instances.

    >>> states = board_states("a100-40gb")
    >>> first = states.state_of(()).steps[3]
    >>> bin(first.slots), first.made, sorted(states.state_of(first.after).steps)
    ('0b11110000', True, [1, 2, 3, 4])
    """

    board: MigBoard
    fixed: bool = False
    _states: dict[Instances, BoardState] = field(default_factory=dict)
    _covered: dict[tuple[int, int], int] = field(default_factory=dict)

    def state_of(self, instances: Instances) -> BoardState:
        """Return the state with these instances, ordered by start."""
        state = self._states.get(instances)
        if state is None:
            state = self._states[instances] = self._work_out(instances)
        return state

    def has(self, size: int) -> bool:
        """Return whether a slice of this size can exist; with ``fixed``, one of at least that size."""
        return any(self._serves(p.compute_slices, size) for p in self.board.profiles)

    def layout(self, instances: Instances) -> MigLayout:
        """Return the instances as a MIG layout."""
        return MigLayout(self.board.name, tuple(Slice(i.start, i.profile) for i in instances))

    def _work_out(self, instances: Instances) -> BoardState:
        whole = self.board
        busy = [i for i in instances if i.held]
        free = whole.compute_slices - sum(self._size(i) for i in busy)
        steps = {}
        for size in range(1, whole.compute_slices + 1):
            step = self._reuse(instances, size) or (None if self.fixed else self._make(instances, size))
            if step is not None:
                steps[size] = step
        releases = {self._slots(i): _with(instances, i, Instance(i.start, i.profile)) for i in busy}
        return BoardState(instances, free, self._stranded(instances), steps, releases)

    def _stranded(self, instances: Instances) -> int:
        if self.fixed:
            return self.board.compute_slices - sum(self._size(i) for i in instances)
        busy = [i for i in instances if i.held]
        free = self.board.compute_slices - sum(self._size(i) for i in busy)
        return free - self._most(sum(self._slots(i) for i in busy), free)

    def _most(self, taken: int, free: int) -> int:
        """Return the most compute slices of standard instances on slots not ``taken``, at most ``free``."""
        if (taken, free) not in self._covered:
            self._covered[taken, free] = max(
                (
                    profile.compute_slices + self._most(taken | slots, free - profile.compute_slices)
                    for profile in self.board.profiles
                    if profile.standard and profile.compute_slices <= free
                    for slots in (_bits(start, profile.memory_slices) for start in profile.starts)
                    if not taken & slots
                ),
                default=0,
            )
        return self._covered[taken, free]

    def _reuse(self, instances: Instances, size: int) -> SliceChange | None:
        fit = [i for i in instances if not i.held and self._serves(self._size(i), size)]
        if not fit:
            return None
        busy = [i for i in instances if i.held]
        best = min(fit, key=lambda i: (self._size(i), self._memory(i), self._less_room([*busy, i]), i.start))
        taken = Instance(best.start, best.profile, True)
        return SliceChange(
            _with(instances, best, taken), self._slots(best), self._size(best), best.profile, False
        )

    def _serves(self, has: int, size: int) -> bool:
        return has >= size if self.fixed else has == size

    def _make(self, instances: Instances, size: int) -> SliceChange | None:
        profile = next((p for p in self.board.profiles if p.standard and p.compute_slices == size), None)
        if profile is None:
            return None
        busy = [i for i in instances if i.held]
        idle = [i for i in instances if not i.held]
        choices = []
        for start in self._free_starts(busy, profile):
            new = Instance(start, profile.name, True)
            kept = self._kept(idle, busy, new)
            rank = (self._less_room([*busy, new]), len(idle) - len(kept), start)
            choices.append((rank, new, kept))
        if not choices:
            return None
        _, new, kept = min(choices)
        after = tuple(sorted([*busy, *kept, new]))
        return SliceChange(after, self._slots(new), size, profile.name, True)

    def _kept(self, idle: Sequence[Instance], busy: Sequence[Instance], new: Instance) -> list[Instance]:
        """Return the idle instances that may stay beside the held ones and the new one, smallest first."""
        room = self.board.compute_slices - sum(self._size(i) for i in (*busy, new))
        kept = []
        for instance in sorted(idle, key=lambda i: (self._size(i), i.start)):
            if not self._slots(instance) & self._slots(new) and self._size(instance) <= room:
                room -= self._size(instance)
                kept.append(instance)
        return kept

    def _free_starts(self, busy: Sequence[Instance], profile: SliceProfile) -> list[int]:
        """Return the starts of ``profile`` beside the held instances if all idle ones were gone."""
        if profile.compute_slices > self.board.compute_slices - sum(self._size(i) for i in busy):
            return []
        if sum(i.profile == profile.name for i in busy) >= profile.max_instances:
            return []
        taken = sum(self._slots(i) for i in busy)
        return [s for s in profile.starts if not taken & _bits(s, profile.memory_slices)]

    def _less_room(self, busy: Sequence[Instance]) -> tuple[int, ...]:
        """Minus how many more of each standard profile alone would fit beside ``busy``, largest first."""
        free = self.board.compute_slices - sum(self._size(i) for i in busy)
        room = []
        for profile in sorted(self.board.profiles, key=lambda p: -p.compute_slices):
            if profile.standard:
                starts = len(self._free_starts(busy, profile))
                room.append(-min(starts, free // profile.compute_slices))
        return tuple(room)

    def _size(self, instance: Instance) -> int:
        return self.board.profile(instance.profile).compute_slices

    def _memory(self, instance: Instance) -> int:
        return self.board.profile(instance.profile).memory_slices

    def _slots(self, instance: Instance) -> int:
        return _bits(instance.start, self._memory(instance))


@cache
def board_states(board_name: str, fixed: bool = False) -> BoardStates:
    """Return the automaton of a board; raises :class:`~nona.core.errors.HardwareError` for an unknown one."""
    return BoardStates(board(board_name), fixed)


def idle_instances(layout: MigLayout) -> Instances:
    """Return the instances of a layout, none of them held."""
    return tuple(Instance(s.start, s.profile) for s in sorted(layout.slices))


def _bits(start: int, length: int) -> int:
    return ((1 << length) - 1) << start


def _with(instances: Instances, old: Instance, new: Instance) -> Instances:
    return tuple(new if i == old else i for i in instances)


class SlicedGpu(Gpu[Instances]):
    """A batch holds one MIG instance.

    With several GPUs, one on which nothing has to be made comes first, then the one with fewest free
    vGPUs, then the first.

    ``fixed``: the instances of ``invoker.layout`` stay as they are. A batch gets the smallest idle one of
    at least its vGPUs and holds all of it: it runs as fast as that slice does, and is paid for so.
    Otherwise the layout (none: an empty board) is only the start: an instance that is not held may make
    way for another, which is ready ``reconfiguration_s`` after it was asked for.

    >>> gpu = SlicedGpu(Invoker(), reconfiguration_s=2.0)
    >>> part = gpu.part(gpu.empty, 3)
    >>> part.profile, bin(part.slots), part.setup_s
    ('3g.20gb', '0b11110000', 2.0)
    >>> gpu.part(gpu.release(part.after, part.key), 3).setup_s
    0.0
    """

    def __init__(self, invoker: Invoker, reconfiguration_s: float = 0.0, fixed: bool = False) -> None:
        if not invoker.board:
            raise SimulationError(
                "Invoker: its GPU has no MIG, so it cannot be shared by slices; use mps or time-slicing, "
                "or a GPU with MIG."
            )
        layout = invoker.layout
        if fixed and (layout is None or not layout.slices):
            raise SimulationError("Invoker: mig-fixed needs the slices of its GPUs; give the server's mig.")
        self._states = board_states(invoker.board, fixed)
        self._layout = layout
        self._reconfiguration_s = reconfiguration_s
        self.empty = idle_instances(layout) if layout else ()
        self.whole = self.vgpus = self._states.board.compute_slices

    def part(self, state: Instances, vgpus: int) -> GpuPart[Instances] | None:
        """Return an idle instance of the size, else a new one."""
        now = self._states.state_of(state)
        step = now.steps.get(vgpus)
        if step is None:
            return None
        setup_s = self._reconfiguration_s if step.made else 0.0
        start = (step.slots & -step.slots).bit_length() - 1
        rank = now.free + (self.whole + 1) * step.made
        return GpuPart(step.after, step.vgpus, step.slots, setup_s, step.profile, rank, start)

    def release(self, state: Instances, key: int) -> Instances:
        """Return the state in which the instance that starts at ``key`` is idle."""
        return next(
            after
            for slots, after in self._states.state_of(state).after_release.items()
            if slots & -slots == 1 << key
        )

    def free(self, state: Instances) -> int:
        """Return the number of compute slices that are not held."""
        return self._states.state_of(state).free

    def stranded(self, state: Instances) -> int:
        """As the base says; with fixed slices, those outside every instance."""
        return self._states.state_of(state).stranded

    def may_hold(self, configuration: BatchConfiguration) -> tuple[int, ...]:
        """Its own size; with fixed slices, the sizes among them that serve it, in order."""
        if not self._states.fixed or self._layout is None:
            return super().may_hold(configuration)
        sizes = {profile.compute_slices for profile in self._layout.profiles}
        return tuple(sorted(size for size in sizes if size >= configuration.vgpus))


GEOMETRY = SharingMode(
    name="mig-geometry",
    title="MIG, placed",
    about="slices at legal places, created on demand",
    make=lambda invoker, settings: SlicedGpu(invoker, settings.reconfiguration),
    style=ChartStyle("#0f9b8e", "solid", "square"),
    requires=("reconfiguration",),
    sliced=True,
    sets_up=True,
)
FIXED = SharingMode(
    name="mig-fixed",
    title="MIG, fixed",
    about="only the slices of page Scenario",
    make=lambda invoker, settings: SlicedGpu(invoker, fixed=True),
    style=ChartStyle("#2b8fd6", "dash", "square-open"),
    sliced=True,
    fixed_layout=True,
)


class CountedGpu(Gpu[int]):
    """A batch gets any free vGPUs: of the fullest GPU that has enough. A state is how many are free.

    As ESG counts vGPUs. Source: Hui, Xu, Guo, Shen, ESG, HPDC 2024 ("up to 7 vGPUs").
    """

    def __init__(self, vgpus: int) -> None:
        self.whole = self.vgpus = self.empty = vgpus

    def part(self, state: int, vgpus: int) -> GpuPart[int] | None:
        """Return the lowest free slots."""
        return GpuPart(state - vgpus, vgpus, slots=-1, rank=state, key=vgpus) if vgpus <= state else None

    def release(self, state: int, key: int) -> int:
        """So many more are free."""
        return state + key

    def free(self, state: int) -> int:
        """Return the state."""
        return state

    def stranded(self, state: int) -> int:
        """None: every free one fits some batch."""
        return 0


COUNTED = SharingMode(
    name="mig-counter",
    title="MIG, counted",
    about="any free vGPUs",
    make=lambda invoker, settings: CountedGpu(invoker.vgpus),
    style=ChartStyle("#6366f1", "solid", "circle"),
)
