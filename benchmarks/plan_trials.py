"""Does a plan find the true cheapest option, and how long does it take?

``python -m benchmarks.plan_trials``: on seeded systems whose answer theory knows (one line before all
servers, M/M/c; a line before each, M/D/1) the plan's answer is compared with enumeration, and every verdict
*keeps* and *misses* with the true share. ``--time`` plans five models on some sixty options with two
processes instead.

Source of the shares: Kleinrock, Queueing Systems I, 1975, section 3.5 (M/M/c); Erlang, 1909 (M/D/1).
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from nona.placement.queueing import erlang_c
from nona.results.planning import PlanOption
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.planning.plan import plan
from nona.study.planning.planner import Planner
from nona.study.planning.question import question_of
from nona.study.planning.written import Written

GPUS = ("a100-40gb", "l4", "t4", "h100")
MOST = 60
FIVE = "five_models_80_servers"


@dataclass(frozen=True)
class Known:
    """A system whose answer is known: servers with these mean times (s) and prices, one line or many."""

    one_line: bool
    rate: float
    bound_s: float
    share: float
    times_s: tuple[float, ...]
    prices: tuple[float, ...]

    def within(self, offer: int, servers: int) -> float:
        """P(T ≤ bound) with so many servers of an offer."""
        share = mmc_within if self.one_line else md1_within
        return share(self.rate, self.times_s[offer], servers, self.bound_s)

    def cheapest(self) -> tuple[int, int] | None:
        """Offer and count of the cheapest that keeps, by enumeration."""
        found = [
            (self.prices[k] * next(iter(counts)), k, next(iter(counts)))
            for k in range(len(self.prices))
            if (counts := [n for n in range(1, MOST + 1) if self.within(k, n) >= self.share])
        ]
        return min(found)[1:] if found else None

    def scenario(self, seed: int) -> Scenario:
        """The same as a scenario."""
        used = GPUS[: len(self.prices)]
        times = {gpu: 1000 * s for gpu, s in zip(used, self.times_s, strict=True)}
        graph = {"directed": True, "nodes": [{"id": "a", "compute_ms": times}], "edges": []}
        row = {
            "model": "job",
            "rate": self.rate,
            "slo": self.bound_s,
            "service_scv": 1.0 if self.one_line else 0.0,
        }
        return scenario_from_mapping(
            {
                "version": 1,
                "seed": seed,
                "cluster": {"servers": [{"gpu": used[0]}]},
                "workload": [row],
                "models": {"job": graph},
                "simulation": {"jobs": 5000},
                "plan": {
                    "hit": self.share,
                    "offers": [f"{g}={p}" for g, p in zip(used, self.prices, strict=True)],
                    "schedulers": ["opportunistic" if self.one_line else "local"],
                    "mixed": False,
                    "most": MOST,
                },
            }
        )


def mmc_within(rate: float, mean_s: float, servers: int, bound_s: float) -> float:
    """P(T ≤ t) in M/M/c: the wait is 0 or exponential, the service exponential."""
    mu, speed = 1 / mean_s, servers / mean_s - rate
    if speed <= 0:
        return 0.0
    speed *= 1 + 1e-9 * (abs(speed - mu) < 1e-9 * mu)
    both = mu * (math.exp(-speed * bound_s) - math.exp(-mu * bound_s)) / (mu - speed)
    return 1 - math.exp(-mu * bound_s) - erlang_c(servers, rate * mean_s) * both


def md1_within(rate: float, service_s: float, servers: int, bound_s: float) -> float:
    """P(T ≤ t) where each of the servers is an M/D/1 queue with its share of the jobs."""
    load, wait = rate * service_s / servers, bound_s / service_s - 1
    if load >= 1 or wait < 0:
        return 0.0
    terms = (
        math.exp(-load * (k - wait)) * (load * (k - wait)) ** k / math.factorial(k)
        for k in range(math.floor(wait) + 1)
    )
    return (1 - load) * math.fsum(terms)


def drawn(seed: int) -> Known:
    """A system at random whose answer exists."""
    rng = np.random.default_rng(seed)
    while True:
        offers = int(rng.integers(1, len(GPUS) + 1))
        times = tuple(float(t) for t in np.round(rng.uniform(0.004, 0.03, offers), 4))
        known = Known(
            one_line=bool(seed % 2),
            rate=round(float(rng.uniform(50, 600)), 1),
            bound_s=round(float(rng.uniform(1.5, 6.0)) * max(times), 4),
            share=float(rng.choice([0.8, 0.9, 0.95, 0.98])),
            times_s=times,
            prices=tuple(
                float(p) for p in np.round(0.01 / np.array(times) * rng.uniform(0.5, 1.5, offers), 3)
            ),
        )
        if known.cheapest() is not None:
            return known


def trial(seed: int) -> Counter[str]:
    """One system: was the answer the true one, and which verdicts were wrong?"""
    known = drawn(seed)
    planner = Planner(question_of(known.scenario(seed), Sources()))
    planner.search()
    report = Written(planner).report()
    found: Counter[str] = Counter(trials=1)
    best = report.best
    true = known.cheapest()
    answer = None if best is None else (GPUS.index(best.servers[0].gpu), best.servers[0].count)
    found["true cheapest"] = int(answer == true)
    if answer != true:
        print(f"seed {seed}: {answer} instead of {true}, {known}", flush=True)
    for option in report.options:
        if option.by == "simulation":
            found[f"{option.verdict}"] += 1
            found[f"wrong {option.verdict}"] += int(_wrong(known, option))
    return found


def _wrong(known: Known, option: PlanOption) -> bool:
    (servers,) = option.servers
    true = known.within(GPUS.index(servers.gpu), servers.count)
    return (option.verdict == "keeps" and true < known.share) or (
        option.verdict == "misses" and true >= known.share
    )


def timed() -> None:
    """Five models on some sixty options, two processes."""
    data = load_scenario(scenario_path(FIVE)).model_dump(mode="json")
    data["simulation"]["jobs"] = 10_000
    data["plan"] = {
        "hit": 0.95,
        "offers": ["a100-40gb", "a100-40gb:3g+2g+2g", "l4", "t4", "a30", "h100"],
        "schedulers": ["least-loaded", "jsq-d", "opportunistic"],
        "replications": 32,
    }
    begin, first = time.perf_counter(), 0.0
    tables = 0

    def on_table(_report: object, _progress: object) -> None:
        nonlocal first, tables
        first = first or time.perf_counter() - begin
        tables += 1

    report = plan(
        scenario_from_mapping(data), Sources(scenario_path(FIVE).parent), workers=2, on_table=on_table
    )
    simulated = sum(o.by == "simulation" for o in report.options)
    print(
        f"{len(report.options)} options listed, {simulated} simulated, {len(report.evidence)} chains; "
        f"first table after {first:.1f} s, all after {report.seconds:.0f} s; answer {report.answer}"
    )


def main() -> None:
    """Run the trials, or the timing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()
    if arguments.time:
        timed()
        return
    begin = time.perf_counter()
    total: Counter[str] = Counter()
    for seed in range(arguments.first, arguments.first + arguments.trials):
        total += trial(seed)
    print(", ".join(f"{name}: {count}" for name, count in sorted(total.items())))
    print(f"true cheapest in {total['true cheapest'] / total['trials']:.1%} of {total['trials']} trials")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
