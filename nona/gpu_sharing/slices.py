"""MIG slices: created at legal places on demand, or fixed beforehand.

Rules and choice of places: :mod:`nona.gpu_sharing.board_states`.
"""

from __future__ import annotations

from nona.errors import SimulationError
from nona.gpu_sharing.board_states import BoardState, BoardStates, board_states, idle_instances
from nona.gpu_sharing.ledger import Ledger
from nona.gpu_sharing.pool import Lease
from nona.gpu_sharing.resources import Configuration, Invoker
from nona.gpu_sharing.way import Way
from nona.hardware.mig import MigLayout
from nona.look import Look


class SlicePool(Ledger):
    """A batch holds one MIG instance.

    With several GPUs, one on which nothing has to be made comes first, then the one with fewest free
    vGPUs, then the first.

    ``fixed``: the instances of ``invoker.layout`` stay as they are. A batch gets the smallest idle one of
    at least its vGPUs and holds all of it: it runs as fast as that slice does, and is paid for so.
    Otherwise the layout (none: an empty board) is only the start: an instance that nobody holds may make
    way for another, which is ready ``reconfiguration_s`` after it was asked for.

    Raises
    ------
    SimulationError
        When the GPU has no MIG, or ``fixed`` has no layout.

    Examples
    --------
    >>> pool = SlicePool(Invoker(), reconfiguration_s=2.0)
    >>> lease = pool.take(Configuration(1, 1, 3), 0.0)
    >>> lease.profile, bin(lease.slots), lease.setup_s
    ('3g.20gb', '0b11110000', 2.0)
    >>> pool.release(lease, 5.0)
    >>> pool.take(Configuration(1, 1, 3), 5.0).setup_s
    0.0
    >>> pool.why_not(Configuration(1, 1, 5))
    'no slice has 5 vGPUs on this board'
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
        self._states: BoardStates = board_states(invoker.board, fixed)
        self._reconfiguration_s = reconfiguration_s
        first = self._states.at(idle_instances(layout) if layout else ())
        self._now: list[BoardState] = [first] * invoker.gpus
        self._out_of_reach = first.stranded * invoker.gpus
        super().__init__(invoker, self._states.board.compute_slices * invoker.gpus)

    @property
    def stranded(self) -> int:
        """As the protocol says; with fixed slices, those outside every instance."""
        return self._out_of_reach if self.free_vcpus else self.free_vgpus

    @property
    def layouts(self) -> tuple[MigLayout, ...]:
        """The instances on each GPU as they are now."""
        return tuple(self._states.layout(state.instances) for state in self._now)

    def may_hold(self, configuration: Configuration) -> tuple[int, ...]:
        """Its own size; with fixed slices, the sizes among them that serve it, in order."""
        if not self._states.fixed:
            return super().may_hold(configuration)
        sizes = {i.compute_slices for layout in self.layouts[:1] for i in layout.profiles}
        return tuple(sorted(size for size in sizes if size >= configuration.vgpus))

    def ready(self, configuration: Configuration) -> bool:
        """Whether the vCPUs are free, and an idle instance serves it."""
        if configuration.vcpus > self.free_vcpus:
            return False
        found = (state.steps.get(configuration.vgpus) for state in self._now)
        return any(step is not None and not (step.made and self._reconfiguration_s) for step in found)

    def _hand_out(self, gpu: int, configuration: Configuration) -> Lease:
        """An idle instance of the size, else a new one."""
        step = self._now[gpu].steps[configuration.vgpus]
        self._move(gpu, self._states.at(step.after))
        setup_s = self._reconfiguration_s if step.made else 0.0
        return self._book(gpu, configuration.vcpus, step.vgpus, step.slots, setup_s, step.profile)

    def _why_no_gpu(self, vgpus: int) -> str:
        if not self._states.has(vgpus):
            return f"no slice has {vgpus} vGPUs on this board"
        most = max((state.free for state in self._now), default=0)
        if vgpus > most:
            return f"vGPUs short: {most} free on one GPU, {vgpus} needed"
        if self._states.fixed:
            return f"no idle slice of at least {vgpus} vGPUs"
        return f"no legal place for a slice of {vgpus} vGPUs next to those in use"

    def release(self, lease: Lease, now_s: float) -> None:
        """Give a lease back; its instance stays, idle."""
        self._strike(lease)
        self._move(lease.gpu, self._states.at(self._now[lease.gpu].after_release[lease.slots]))

    def _gpu_for(self, vgpus: int) -> int:
        if len(self._now) == 1:
            return 0 if vgpus in self._now[0].steps else -1
        able = [(s.steps[vgpus].made, s.free, n) for n, s in enumerate(self._now) if vgpus in s.steps]
        return min(able)[2] if able else -1

    def _move(self, gpu: int, state: BoardState) -> None:
        self._out_of_reach += state.stranded - self._now[gpu].stranded
        self._now[gpu] = state


GEOMETRY = Way(
    name="mig-geometry",
    title="MIG, placed",
    about="slices at legal places, created on demand",
    make=lambda invoker, settings: SlicePool(invoker, settings.reconfiguration),
    look=Look("#0f9b8e", "solid", "square"),
    asks=("reconfiguration",),
    sliced=True,
    sets_up=True,
)
FIXED = Way(
    name="mig-fixed",
    title="MIG, fixed",
    about="only the slices of the Cluster page",
    make=lambda invoker, settings: SlicePool(invoker, fixed=True),
    look=Look("#2b8fd6", "dash", "square-open"),
    sliced=True,
    fixed_layout=True,
)
