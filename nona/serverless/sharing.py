"""The system's GPUs under its way of sharing: what they hold, how long batches take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nona.cluster.sharing.pool import BatchConfiguration, Gpu
from nona.cluster.sharing.registry import make_gpu
from nona.core.arrays import Bools, Floats
from nona.serverless.functions import Function, LawTimes
from nona.serverless.system import ServerlessSystem


def kinds_of_gpu(system: ServerlessSystem) -> list[Gpu[Any]]:
    """Return the rules for a GPU of each kind of invoker."""
    return [make_gpu(node, system.sharing) for node in dict.fromkeys(system.invokers)]


def holdable(system: ServerlessSystem) -> Bools:
    """Return, by configuration (C,), whether some empty invoker takes it under the scenario's sharing."""
    kinds = list(zip(dict.fromkeys(system.invokers), kinds_of_gpu(system), strict=True))
    return np.array(
        [
            any(c.vcpus <= node.vcpus and gpu.part(gpu.empty, c.vgpus) is not None for node, gpu in kinds)
            for c in system.space.configurations
        ]
    )


def gpu_seconds(system: ServerlessSystem, gpu: Gpu[Any]) -> Floats:
    """(F, C) Seconds on the GPU of each function in each configuration, alone on a GPU of these rules.

    gpu_factor · gpu(timed_as(c)), on as many vGPUs as c asks for. Where a function has a table without
    the row of ``timed_as(c)``, that of the same jobs and vCPUs with the most vGPUs up to those stands in.
    """
    every = system.space.configurations
    seconds = system.gpu_s.copy()
    for number, own in enumerate(every):
        timed = gpu.timed_as(own)
        if timed != own:
            seconds[:, number] = [
                _timed(function, own, timed, float(seconds[f, number]))
                for f, function in enumerate(system.functions)
            ]
    scaled: Floats = seconds * gpu.gpu_factor
    return scaled


def crowded_seconds(system: ServerlessSystem) -> Floats:
    """(F, C) As :func:`gpu_seconds` on the slowest invoker, with all that may be handed out computing.

    What a careful profile shows: without coupling it is the time alone.
    """
    gpus = kinds_of_gpu(system)
    factors = [np.array([gpu.crowded(c) for c in system.space.configurations]) for gpu in gpus]
    slowest = [gpu_seconds(system, gpu) * factor for gpu, factor in zip(gpus, factors, strict=True)]
    return np.asarray(np.max(slowest, axis=0), dtype=np.float64)


def larger_slice_s(system: ServerlessSystem, function: int, configuration: int, vgpus: int) -> float:
    """Seconds on the GPU of a configuration on a slice of ``vgpus``, at least as many as it asks for."""
    own = system.space[configuration]
    own_s = float(system.gpu_s[function, configuration])
    return _timed(system.functions[function], own, replace(own, vgpus=vgpus), own_s)


def least_gpu_seconds(system: ServerlessSystem, gpu: Gpu[Any]) -> Floats:
    """(F, C) As :func:`gpu_seconds`, but the least over the slices that a lease may hold.

    It differs only where fixed slices may be larger than what was asked for.
    """
    seconds = gpu_seconds(system, gpu)
    for c, own in enumerate(system.space.configurations):
        for vgpus in gpu.may_hold(own):
            if vgpus > own.vgpus:
                on_it = [larger_slice_s(system, f, c, vgpus) for f in range(len(system.functions))]
                seconds[:, c] = np.minimum(seconds[:, c], on_it)
    return seconds


def least_times(system: ServerlessSystem) -> tuple[Floats, Floats]:
    """(F, C) Least seconds of a batch on any invoker, least US dollars a job; infinite where none runs it."""
    on_gpu = [least_gpu_seconds(system, gpu) for gpu in kinds_of_gpu(system)]
    time_s = np.where(holdable(system), system.cpu_s + np.min(on_gpu, axis=0), np.inf)
    return time_s, system.job_cost_at(time_s)


def _timed(function: Function, own: BatchConfiguration, timed: BatchConfiguration, own_s: float) -> float:
    times = function.times
    if not np.isfinite(own_s):
        return own_s
    if isinstance(times, LawTimes):
        return times.gpu.seconds(timed.batch, timed.vgpus)
    larger = [
        (row.vgpus, seconds)
        for row, seconds in times.rows.items()
        if (row.batch, row.vcpus) == (own.batch, own.vcpus) and own.vgpus <= row.vgpus <= timed.vgpus
    ]
    return max(larger)[1] if larger else own_s
