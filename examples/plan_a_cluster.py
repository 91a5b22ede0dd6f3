"""Plan a cluster: the fewest servers on which a pipeline keeps its SLO, found by simulation.

python examples/plan_a_cluster.py [--servers 4 8 12 16 24] [--jobs 5000]
"""

import argparse

import nona

TARGET = 0.95
SCENARIO = """
version: 1
name: Retrieval for 14 questions a second
seed: 5
cluster:
  servers: [{count: 1, gpu: a100-40gb}]
  network: {capacity: 25 Gbit/s, latency: 20 us}
background: {network: {utilization: 0.2, mean_size: 1 MB}}
workload: [{model: rag_pipeline, rate: 14/s, slo: 500 ms, service_scv: 0.1}]
simulation: {replications: 3}
schedulers: [nona]
"""


def hit_rate(servers: int, jobs: int) -> float | None:
    """Print a row for a number of servers; return the share of queries within the SLO, if it is steady."""
    scenario = nona.with_value(nona.parse_scenario(SCENARIO), "cluster.servers[0].count", servers)
    prepared = nona.prepare(nona.with_value(scenario, "simulation.jobs", jobs))
    try:
        placement = nona.place(prepared)
    except nona.NonaError as error:
        print(f"{servers:>8} overloaded: {error}")
        return None
    result = nona.simulate(prepared, placement=placement).summaries["nona"].result
    if result.state != "stable" or result.slo_hit_rate is None:
        print(f"{servers:>8} {result.state}")
        return None
    jct, hits = result.jct_s, result.slo_hit_rate
    print(f"{servers:>8} {1e3 * jct.mean:>8.1f} ± {1e3 * jct.half_width:.1f} ms {hits.mean:>14.1%}")
    return hits.mean


def main(arguments: list[str] | None = None) -> dict[int, float | None]:
    """Simulate every number of servers; return the share of queries within the SLO for each."""
    parser = argparse.ArgumentParser(description="Find the fewest servers that keep an SLO.")
    parser.add_argument("--servers", type=int, nargs="+", default=[4, 8, 12, 16, 24])
    parser.add_argument("--jobs", type=int, default=5000)
    options = parser.parse_args(arguments)
    print(f"{'servers':>8} {'mean JCT':>17} {'within 500 ms':>15}")
    rates = {servers: hit_rate(servers, options.jobs) for servers in sorted(options.servers)}
    enough = [servers for servers, rate in rates.items() if (rate or 0) >= TARGET]
    print(f"Servers for {TARGET:.0%} within 500 ms: {min(enough, default='more than were tried')}")
    return rates


if __name__ == "__main__":
    main()
