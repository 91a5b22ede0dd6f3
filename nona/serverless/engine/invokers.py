"""The invokers: what each has free, and ∫ of what all have allocated."""

from __future__ import annotations

from nona.gpu_sharing.pool import Lease
from nona.gpu_sharing.registry import make_pool
from nona.serverless.engine.tables import Tables


class Invokers:
    """Pools by number of the invoker, with their free amounts in lists: a view of the cluster.

    Attributes
    ----------
    free_vcpus, free_vgpus, stranded
        (N,) By invoker, as its pool says.
    vcpu_area, vgpu_area, stranded_area
        Integrals over the window.
    """

    def __init__(self, tables: Tables, start_s: float, end_s: float) -> None:
        system = tables.system
        self._tables = tables
        self.pools = [make_pool(node, system.sharing) for node in system.invokers]
        self.free_vcpus = [pool.free_vcpus for pool in self.pools]
        self.free_vgpus = [pool.free_vgpus for pool in self.pools]
        self.stranded = [pool.stranded for pool in self.pools]
        self.couples = [pool.couples for pool in self.pools]
        self._window = (start_s, end_s)
        self._last_s = 0.0
        self._vcpus = self._vgpus = 0
        self._without_room: set[int] = set()  # configurations; what is taken makes no room
        self._stranded = sum(self.stranded)
        self.vcpu_area = self.vgpu_area = self.stranded_area = 0.0

    def __len__(self) -> int:
        return len(self.pools)

    def fits(self, invoker: int, configuration: int) -> bool:
        """Whether the invoker has room now."""
        tables = self._tables
        return (
            self.free_vcpus[invoker] >= tables.vcpus[configuration]
            and self.free_vgpus[invoker] >= tables.vgpus[configuration]
            and self.pools[invoker].fits(tables.configurations[configuration])
        )

    def ready(self, invoker: int, configuration: int) -> bool:
        """Whether the invoker has room now, and need not make a slice for it."""
        return self.pools[invoker].ready(self._tables.configurations[configuration])

    def hopeless(self, configuration: int) -> bool:
        """Whether counts alone say that no invoker has room."""
        if configuration in self._without_room:
            return True
        v, g = self._tables.vcpus[configuration], self._tables.vgpus[configuration]
        for free_v, free_g in zip(self.free_vcpus, self.free_vgpus, strict=True):
            if free_v >= v and free_g >= g:
                return False
        self._without_room.add(configuration)
        return True

    def none_has_room(self, configuration: int) -> None:
        """Every invoker has refused the configuration: they will until something is released."""
        self._without_room.add(configuration)

    def take(self, invoker: int, configuration: int, now_s: float) -> Lease | None:
        """Resources for a batch, ``None`` where there is no room."""
        tables = self._tables
        if (
            self.free_vcpus[invoker] < tables.vcpus[configuration]
            or self.free_vgpus[invoker] < tables.vgpus[configuration]
        ):
            return None
        lease = self.pools[invoker].take(tables.configurations[configuration], now_s)
        if lease is not None:
            self._changed(invoker, now_s, lease.vcpus, lease.vgpus)
        return lease

    def release(self, invoker: int, lease: Lease, now_s: float) -> None:
        """A batch gives its resources back."""
        self.pools[invoker].release(lease, now_s)
        self._without_room.clear()
        self._changed(invoker, now_s, -lease.vcpus, -lease.vgpus)

    def _changed(self, invoker: int, now_s: float, vcpus: int, vgpus: int) -> None:
        self.account(now_s)
        pool = self.pools[invoker]
        self._vcpus += vcpus
        self._vgpus += vgpus
        self.free_vcpus[invoker] = pool.free_vcpus
        self.free_vgpus[invoker] = pool.free_vgpus
        stranded = pool.stranded
        self._stranded += stranded - self.stranded[invoker]
        self.stranded[invoker] = stranded

    def account(self, now_s: float) -> None:
        """Add what has passed since the last change to the areas, as far as it lies in the window."""
        start, end = self._window
        begin = self._last_s if self._last_s > start else start
        until = now_s if now_s < end else end
        if until > begin:
            length = until - begin
            self.vcpu_area += self._vcpus * length
            self.vgpu_area += self._vgpus * length
            self.stranded_area += self._stranded * length
        self._last_s = now_s

    def why(self, invoker: int, configuration: int) -> str:
        """In words, why there is no room for the configuration."""
        return self.pools[invoker].why_not(self._tables.configurations[configuration])
