"""What a result says of the scenario that it is of: its hash, version, sizes, files, stack and precision."""

from __future__ import annotations

from nona import __version__
from nona.cluster.hardware.device import Device, Precision, find_device, user_devices
from nona.core.document import About
from nona.core.errors import HardwareError
from nona.models.cost.options import CostOptions, stacks
from nona.scenario.file import dump_scenario, scenario_hash
from nona.scenario.lookup import file_names
from nona.scenario.schema import CostSpec, Scenario

SAME = "as in the file"


def precision_of(cost: CostSpec, device: Device) -> Precision:
    """Return the precision in which ``device`` multiplies float32 tensors; ``fp32`` is full precision."""
    options = CostOptions(cost.stack, cost.precision)
    return options.peak_for("float32", "Conv", device)


def runs_as(scenario: Scenario) -> str:
    """Name the stack and the precision of a scenario's models in a few words.

    >>> from nona.scenario.file import parse_scenario
    >>> mix = "workload: [{model: resnet50, rate: 5/s}]"
    >>> runs_as(parse_scenario("{cluster: {servers: [{count: 2, gpu: l4}, {count: 2, gpu: t4}]}, %s}" % mix))
    'tensorrt, fp32 in TF32 on l4'
    """
    cost = scenario.cost
    if cost.precision != "auto":
        return f"{cost.stack}, {SAME if cost.precision == 'model' else cost.precision}"
    groups = scenario.cluster.task_groups or scenario.cluster.servers
    names = dict.fromkeys(group.gpu for group in groups)
    try:
        own = user_devices(scenario.cluster.devices)
        short = [n for n in names if precision_of(cost, find_device(n, own)) == "tf32"]
    except HardwareError:  # the page of the cluster says what is wrong
        short = []
    if not short:
        return f"{cost.stack}, {SAME}"
    what = "fp32" if stacks()[cost.stack].tf32 == "all" else "fp32 convolutions"
    where = "" if len(short) == len(names) else f" on {', '.join(short)}"
    return f"{cost.stack}, {what} in TF32{where}"


def about_scenario(scenario: Scenario, whole: Scenario, made_at: str) -> About:
    """Return the provenance of a result of ``scenario``.

    ``whole`` is the scenario as an export carries it.
    """
    return About.from_fields(
        scenario,
        hash=scenario_hash(scenario),
        version=__version__,
        made=made_at,
        jobs=scenario.simulation.jobs,
        replications=scenario.simulation.replications,
        yaml=dump_scenario(whole),
        files=tuple(file_names(whole)),
        runs_as=runs_as(scenario) if scenario.workload else "",
    )
