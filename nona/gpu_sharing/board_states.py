"""What the slices of one MIG board may become: states, and the step that each size asked for leads to.

A state is which instances exist and which of them are held. Many invokers share one automaton, whose
states are worked out when they first occur and kept, so that a step costs a look-up.

Rules. A slice of k vGPUs is an instance whose profile has k compute slices. An idle one is used as it is.
Otherwise a new one is made at a legal start, which may need idle instances to be destroyed, never one that
is held. Among starts the one that leaves most room for the largest slice wins, then for the next smaller
and so on, room being how many of that size alone could still be placed beside what is held; then the one
that destroys fewest idle instances; then the lowest. With ``fixed`` nothing is made or destroyed, and the
smallest idle instance of at least k serves.

Source of the placements: NVIDIA MIG user guide, see :mod:`nona.hardware.geometry`; the choice is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from nona.hardware.geometry import Board, Profile, board
from nona.hardware.mig import MigLayout, Slice


@dataclass(frozen=True, slots=True, order=True)
class Instance:
    """One instance on the memory axis: its profile, where it starts, and whether a batch holds it."""

    start: int
    profile: str
    held: bool = False


Instances = tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Where taking a slice leads: the instances then, and the one that is held by it."""

    after: Instances
    slots: int
    vgpus: int
    profile: str
    made: bool


@dataclass(frozen=True, slots=True, eq=False)
class BoardState:
    """One state.

    ``steps``: size → step, for each size that can be had. ``free``, ``stranded``: compute slices that
    nobody holds, and of these the ones beyond the most that slices placed at will beside the held ones
    could cover. ``after_release``: slots of a held instance → the instances once it is idle.
    """

    instances: Instances
    free: int
    stranded: int
    steps: Mapping[int, Step]
    after_release: Mapping[int, Instances]


@dataclass(frozen=True, eq=False)
class BoardStates:
    """The states of a board, by their instances.

    Examples
    --------
    >>> states = board_states("a100-40gb")
    >>> first = states.at(()).steps[3]
    >>> bin(first.slots), first.made, sorted(states.at(first.after).steps)
    ('0b11110000', True, [1, 2, 3, 4])
    """

    board: Board
    fixed: bool = False
    _known: dict[Instances, BoardState] = field(default_factory=dict)
    _covered: dict[tuple[int, int], int] = field(default_factory=dict)

    def at(self, instances: Instances) -> BoardState:
        """The state with these instances, ordered by start."""
        state = self._known.get(instances)
        if state is None:
            state = self._known[instances] = self._work_out(instances)
        return state

    def has(self, size: int) -> bool:
        """Whether a slice of this size can exist; with ``fixed``, whether any of at least that size can."""
        return any(self._serves(p.compute_slices, size) for p in self.board.profiles)

    def layout(self, instances: Instances) -> MigLayout:
        """The instances as a layout."""
        return MigLayout(self.board.name, tuple(Slice(i.start, i.profile) for i in instances))

    def _work_out(self, instances: Instances) -> BoardState:
        whole = self.board
        held = [i for i in instances if i.held]
        free = whole.compute_slices - sum(self._size(i) for i in held)
        steps = {}
        for size in range(1, whole.compute_slices + 1):
            step = self._reuse(instances, size) or (None if self.fixed else self._make(instances, size))
            if step is not None:
                steps[size] = step
        releases = {self._slots(i): _with(instances, i, Instance(i.start, i.profile)) for i in held}
        return BoardState(instances, free, self._stranded(instances), steps, releases)

    def _stranded(self, instances: Instances) -> int:
        if self.fixed:
            return self.board.compute_slices - sum(self._size(i) for i in instances)
        held = [i for i in instances if i.held]
        free = self.board.compute_slices - sum(self._size(i) for i in held)
        return free - self._most(sum(self._slots(i) for i in held), free)

    def _most(self, taken: int, free: int) -> int:
        """The most compute slices of standard instances on the slots not ``taken``, at most ``free``."""
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

    def _reuse(self, instances: Instances, size: int) -> Step | None:
        fit = [i for i in instances if not i.held and self._serves(self._size(i), size)]
        if not fit:
            return None
        held = [i for i in instances if i.held]
        best = min(fit, key=lambda i: (self._size(i), self._memory(i), self._less_room([*held, i]), i.start))
        taken = Instance(best.start, best.profile, True)
        return Step(_with(instances, best, taken), self._slots(best), self._size(best), best.profile, False)

    def _serves(self, has: int, size: int) -> bool:
        return has >= size if self.fixed else has == size

    def _make(self, instances: Instances, size: int) -> Step | None:
        profile = next((p for p in self.board.profiles if p.standard and p.compute_slices == size), None)
        if profile is None:
            return None
        held = [i for i in instances if i.held]
        idle = [i for i in instances if not i.held]
        choices = []
        for start in self._free_starts(held, profile):
            new = Instance(start, profile.name, True)
            kept = self._kept(idle, held, new)
            rank = (self._less_room([*held, new]), len(idle) - len(kept), start)
            choices.append((rank, new, kept))
        if not choices:
            return None
        _, new, kept = min(choices)
        after = tuple(sorted([*held, *kept, new]))
        return Step(after, self._slots(new), size, profile.name, True)

    def _kept(self, idle: Sequence[Instance], held: Sequence[Instance], new: Instance) -> list[Instance]:
        """The idle instances that may stay beside the held ones and the new one, smallest first."""
        room = self.board.compute_slices - sum(self._size(i) for i in (*held, new))
        kept = []
        for instance in sorted(idle, key=lambda i: (self._size(i), i.start)):
            if not self._slots(instance) & self._slots(new) and self._size(instance) <= room:
                room -= self._size(instance)
                kept.append(instance)
        return kept

    def _free_starts(self, held: Sequence[Instance], profile: Profile) -> list[int]:
        """Where ``profile`` could start beside the held instances if all idle ones were gone."""
        if profile.compute_slices > self.board.compute_slices - sum(self._size(i) for i in held):
            return []
        if sum(i.profile == profile.name for i in held) >= profile.max_instances:
            return []
        taken = sum(self._slots(i) for i in held)
        return [s for s in profile.starts if not taken & _bits(s, profile.memory_slices)]

    def _less_room(self, held: Sequence[Instance]) -> tuple[int, ...]:
        """Minus how many more of each standard profile alone would fit beside ``held``, largest first."""
        free = self.board.compute_slices - sum(self._size(i) for i in held)
        room = []
        for profile in sorted(self.board.profiles, key=lambda p: -p.compute_slices):
            if profile.standard:
                starts = len(self._free_starts(held, profile))
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
    """The automaton of a board; raises :class:`~nona.errors.HardwareError` for an unknown one."""
    return BoardStates(board(board_name), fixed)


def idle_instances(layout: MigLayout) -> Instances:
    """The instances of a layout, none of them held."""
    return tuple(Instance(s.start, s.profile) for s in sorted(layout.slices))


def _bits(start: int, length: int) -> int:
    return ((1 << length) - 1) << start


def _with(instances: Instances, old: Instance, new: Instance) -> Instances:
    return tuple(new if i == old else i for i in instances)
