"""Executor classes: a whole device, a MIG slice of it, or an MPS share of either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nona.cluster.hardware.device import Device, Precision, find_device
from nona.cluster.hardware.mig import board
from nona.core.errors import HardwareError

MOST_MPS_CLIENTS = 48
"""Client processes of one MPS server (NVIDIA MIG user guide, table of sharing methods)."""


@dataclass(frozen=True, slots=True)
class ExecutorClass:
    """A kind of executor, which executes one task at a time, and its part of the device.

    ``name``: ``"a100-40gb"``, ``"a100-40gb/2g.10gb"``, ``"a100-40gb/mps-1of4"`` or
        ``"a100-40gb/3g.20gb/mps-1of2"``.
    ``compute_fraction``: SMs of this class divided by the SMs of the device.
    ``bandwidth_fraction``: memory slices of this class divided by those of the board; for MPS the same 1/k as
        for the SMs. MPS does not really partition the bandwidth: equal shares are an assumption, which holds
        when all clients are busy.
    ``mig``, ``mps``: the MIG profile, and the number of clients that share; ``None`` and 1 for a whole
        device.
    """

    name: str
    device: Device
    compute_fraction: float = 1.0
    bandwidth_fraction: float = 1.0
    memory_bytes: float = 0.0
    mig: str | None = None
    mps: int = 1

    @property
    def bandwidth(self) -> float:
        """Bytes/s to memory."""
        return self.device.bandwidth * self.bandwidth_fraction

    @property
    def whole(self) -> bool:
        """Whether the executor is a whole GPU, neither a slice nor an MPS client."""
        return self.mig is None and self.mps == 1

    @property
    def label(self) -> str:
        """Display name."""
        parts = [self.device.title]
        if self.mig:
            parts.append(f"MIG {self.mig}")
        if self.mps > 1:
            parts.append(f"MPS 1/{self.mps}")
        return ", ".join(parts)

    def peak(self, precision: Precision) -> float:
        """FLOP/s at ``precision``."""
        return self.device.peak(precision) * self.compute_fraction


def make_executor_class(device: Device, mig: str | None = None, mps: int | None = None) -> ExecutorClass:
    """Return the executor class of a device, of its MIG slice, or of an MPS client.

    Parameters
    ----------
    device : Device
        The GPU.
    mig : str, optional
        Profile of its slice.
    mps : int, optional
        Clients that share the GPU or the slice.

    Returns
    -------
    ExecutorClass
        The class.

    Raises
    ------
    HardwareError
        If the device cannot be sliced so, or more clients share it than MPS admits.

    Examples
    --------
    >>> from nona.cluster.hardware.device import devices
    >>> half = make_executor_class(devices()["a100-40gb"], mig="3g.20gb", mps=2)
    >>> half.name, round(half.compute_fraction, 4), half.bandwidth_fraction
    ('a100-40gb/3g.20gb/mps-1of2', 0.1944, 0.25)
    """
    name, compute, bandwidth, memory = device.name, 1.0, 1.0, device.memory_bytes
    most = MOST_MPS_CLIENTS
    if mig is not None:
        if device.mig is None:
            raise HardwareError(
                f"Device {device.name!r}: it has no MIG, mig={mig!r} is impossible; remove it."
            )
        whole = board(device.mig)
        profile = whole.profile(whole.full_name(mig))
        mig = profile.name
        name += f"/{mig}"
        compute = profile.sms / device.sms
        bandwidth = profile.memory_slices / whole.memory_slices
        memory = min(profile.memory_bytes, device.memory_bytes)
        most = most * profile.compute_slices // whole.compute_slices
    if mps is not None and not 1 <= mps <= most:
        raise HardwareError(f"Executor {name!r}: mps={mps} must be from 1 to {most} clients; change it.")
    clients = mps or 1
    if clients > 1:
        name += f"/mps-1of{clients}"
    return ExecutorClass(name, device, compute / clients, bandwidth / clients, memory / clients, mig, clients)


def sharing_warnings(names: Iterable[str]) -> list[str]:
    """Return a sentence where some of these executor classes are MPS clients on MIG slices.

    Source: NVIDIA/k8s-device-plugin, README: sharing by MPS is not supported on devices with MIG.

    >>> sharing_warnings(["t4/mps-1of2", "a100-40gb/3g.20gb"])
    []
    """
    found = [name for name in dict.fromkeys(names) if "/" in name.partition("/mps-")[0] and "/mps-" in name]
    if not found:
        return []
    return [
        f"MPS clients on MIG slices ({', '.join(found)}): NVIDIA's device plugin for Kubernetes refuses MPS "
        "on devices with MIG. Use MIG or MPS alone there; without Kubernetes each slice needs an MPS daemon."
    ]


def spelled(name: str) -> str:
    """Return the name of a class however a file spells it; of one that is not known as it is, after ``/``.

    >>> spelled("a100-40gb:3g"), spelled("mine:half")
    ('a100-40gb/3g.20gb', 'mine/half')
    """
    try:
        return executor_class(name).name
    except HardwareError:
        return name.replace(":", "/", 1)


def executor_class(name: str, own: Mapping[str, Device] | None = None) -> ExecutorClass:
    """Return the executor class of that name: a GPU, a MIG slice, or an MPS client of either.

    Parameters
    ----------
    name : str
        The device; then, after ``/`` or ``:``, a MIG slice (its memory may be left out); then ``mps-1ofK``.
    own : mapping of str to Device, optional
        The user's own devices, as :func:`user_devices` returns them.

    Returns
    -------
    ExecutorClass
        The class, with its share of the device's compute units and memory.

    Raises
    ------
    HardwareError
        For an unknown device or slice.

    Examples
    --------
    >>> executor_class("a100-40gb/mps-1of4").compute_fraction
    0.25
    >>> [executor_class(f"a100-40gb{slice}").name for slice in ("/3g.20gb", ":3g.20gb", ":3g")]
    ['a100-40gb/3g.20gb', 'a100-40gb/3g.20gb', 'a100-40gb/3g.20gb']
    """
    base, *parts = name.replace(":", "/", 1).split("/")
    device = find_device(base, own)
    mps = None
    if parts and parts[-1].startswith("mps-1of"):
        clients = parts.pop().removeprefix("mps-1of")
        if not (clients.isascii() and clients.isdigit() and len(clients) < 4):
            raise HardwareError(f"Executor {name!r}: 'mps-1of{clients}' needs a whole number, as mps-1of4.")
        mps = int(clients)
    if len(parts) > 1:
        raise HardwareError(
            f"Executor {name!r}: write DEVICE, DEVICE/SLICE, DEVICE/mps-1ofK or DEVICE/SLICE/mps-1ofK."
        )
    return make_executor_class(device, parts[0] if parts else None, mps)
