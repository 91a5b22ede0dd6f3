"""Sharing of GPUs: configurations of mig-parted by device number, and of NVIDIA's device plugin.

Source: NVIDIA/mig-parted, examples; NVIDIA/k8s-device-plugin, README: with MPS there is no MIG on a node.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import yaml

from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.hardware.mig import parse_layout
from nona.core.errors import DeploymentError
from nona.deployment.writing import Standing, group_name
from nona.scenario.schema import ServerGroupSpec


def gpu_files(standing: Standing) -> dict[str, str]:
    """Return the files that divide the GPUs of each group of servers.

    Raises ``DeploymentError`` where the device plugin cannot share so, and where nothing is shared.
    """
    scenario = standing.scenario
    configs: dict[str, list[dict[str, Any]]] = {}
    files: dict[str, str] = {}
    commands = []
    for number, group in enumerate(scenario.cluster.servers):
        name = group_name(number, group)
        if group.mig:
            if group.mps:
                raise DeploymentError(
                    f"cluster.servers[{number}]: MPS clients on MIG slices: the device plugin has no MPS on "
                    "nodes with MIG; remove mps or mig."
                )
            device = find_device(group.gpu, user_devices(scenario.cluster.devices))
            slices = Counter(s.profile for s in parse_layout(group.mig, device.mig or "").slices)
            each = {
                "devices": list(range(group.gpus)),
                "mig-enabled": True,
                "mig-devices": dict(sorted(slices.items())),
            }
            configs[name] = [each]
            commands.append(
                f"kubectl label node NODE nvidia.com/mig.config={name} --overwrite  # {group.count} nodes"
            )
        if (sharing := _sharing(group)) is not None:
            files[f"device-plugin-{name}.yaml"] = standing.comment + yaml.safe_dump(sharing, sort_keys=False)
            commands.append(
                f"kubectl label node NODE nvidia.com/device-plugin.config={name} --overwrite  "
                f"# {group.count} nodes"
            )
    if configs:
        back = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
        document = {"version": "v1", "mig-configs": {**back, **configs}}
        files["mig-parted.yaml"] = standing.comment + yaml.safe_dump(document, sort_keys=False)
        commands.append(
            "kubectl label node NODE nvidia.com/mig.config=all-disabled --overwrite  # the way back"
        )
    if not files:
        raise DeploymentError(
            "cluster.servers: all GPUs are whole and not shared, so there is nothing to write."
        )
    files["labels.sh"] = f"#!/bin/sh\n{standing.comment}# NODE: the name of each node\n" + "\n".join(
        [*commands, ""]
    )
    return files


def _sharing(group: ServerGroupSpec) -> dict[str, Any] | None:
    """Return the device plugin's configuration of a group; ``None`` where nothing is shared."""
    instances = group.instances
    if group.mps:
        resource = {"name": "nvidia.com/gpu", "replicas": group.mps}
        shared: dict[str, Any] = {"mps": {"renameByDefault": True, "resources": [resource]}}
        strategy = "none"
    elif instances is not None and instances.most > 1:
        return None  # instances of a server share inside its own processes
    else:
        return None
    return {"version": "v1", "flags": {"migStrategy": strategy}, "sharing": shared}
