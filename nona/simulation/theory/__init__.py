"""What queueing theory says of small systems, to hold the simulation against.

All answers are mean seconds in steady state, and ``inf`` where there is none (utilisation ≥ 1).
Waits in M/G/1 queues come from :mod:`nona.placement.waits.queueing`, which the placement uses as well.
The systems on which simulation and theory meet are in :mod:`nona.simulation.known`.
"""

from nona.simulation.theory.choices import choices_jct_s
from nona.simulation.theory.fork_join import fork_join_bounds_s, fork_join_two_jct_s
from nona.simulation.theory.link import link_wait_s, sharing_jct_s
from nona.simulation.theory.networks import jackson_jct_s, tandem_jct_s, traffic_rates
from nona.simulation.theory.priorities import priority_jct_s
from nona.simulation.theory.single import erlang_c, md1_jct_s, mg1_jct_s, mm1_jct_s, mmc_jct_s

__all__ = [
    "choices_jct_s",
    "erlang_c",
    "fork_join_bounds_s",
    "fork_join_two_jct_s",
    "jackson_jct_s",
    "link_wait_s",
    "md1_jct_s",
    "mg1_jct_s",
    "mm1_jct_s",
    "mmc_jct_s",
    "priority_jct_s",
    "sharing_jct_s",
    "tandem_jct_s",
    "traffic_rates",
]
