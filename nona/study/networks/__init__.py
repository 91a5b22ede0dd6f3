"""Generated networks of kinds that the samples lack: task graphs for the key ``models`` of a scenario.

``registry`` names them, ``task_graph`` says what a task takes and a tensor weighs; every other module
is one kind of network. Their layers have the sizes of known networks, their times follow from these
sizes by the rule of ``task_graph``: they are instances, not measurements of any one network.
"""

from nona.study.networks.registry import NETWORKS, GeneratedNetwork, network_named, network_names

__all__ = ["NETWORKS", "GeneratedNetwork", "network_named", "network_names"]
