"""Sharing of GPUs: configurations of mig-parted by device number, and of NVIDIA's device plugin.

Source: NVIDIA/mig-parted, examples; NVIDIA/k8s-device-plugin, README: with MPS there is no MIG on a node.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.hardware.mig import MigLayout, parse_layout
from nona.cluster.hardware.mig_parted import write_mig_parted
from nona.core.errors import DeploymentError
from nona.deployment.writing import ANNOTATION, Standing, group_annotations, group_name
from nona.scenario.cluster import ServerGroupSpec


def gpu_files(standing: Standing) -> dict[str, str]:
    """Return the files that divide the GPUs of each group of servers.

    Raises ``DeploymentError`` where the device plugin cannot share so, and where nothing is shared.
    """
    scenario = standing.scenario
    configs: dict[str, Sequence[MigLayout | None]] = {}
    files: dict[str, str] = {}
    commands = []
    comment = standing.comment + "".join(_servers_lines(scenario.cluster.servers))
    for number, group in enumerate(scenario.cluster.servers):
        name = group_name(number, group)
        if group.mig:
            if group.mps:
                raise DeploymentError(
                    f"cluster.servers[{number}]: MPS clients on MIG slices: the device plugin has no MPS on "
                    "nodes with MIG; remove mps or mig."
                )
            board = find_device(group.gpu, user_devices(scenario.cluster.devices)).mig or ""
            configs[name] = [parse_layout(of, board) if of else None for of in group.layouts]
            commands.append(
                f"kubectl label node NODE nvidia.com/mig.config={name} --overwrite  # {group.count} nodes"
            )
        if (sharing := _sharing(group)) is not None:
            files[f"device-plugin-{name}.yaml"] = comment + yaml.safe_dump(sharing, sort_keys=False)
            commands.append(
                f"kubectl label node NODE nvidia.com/device-plugin.config={name} --overwrite  "
                f"# {group.count} nodes"
            )
    if configs:
        files["mig-parted.yaml"] = comment + write_mig_parted({"all-disabled": [None], **configs})
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


def _servers_lines(groups: Sequence[ServerGroupSpec]) -> Iterator[str]:
    """Yield a comment for each group of servers, by which :mod:`nona.deployment.gpu_sharing` knows it."""
    for number, group in enumerate(groups):
        notes = {k.removeprefix(ANNOTATION): v for k, v in group_annotations(number, group).items()}
        yield f"# {ANNOTATION}{group_name(number, group)}: {json.dumps(notes, ensure_ascii=False)}\n"


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
