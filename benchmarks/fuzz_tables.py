"""Damage real traces and tables at random and read them: each gives a result or an error of one line.

``python -m benchmarks.fuzz_tables [MUTATIONS] [SEED]`` prints how many files of each kind were read or
refused and the longest time, and ends with status 1 if anything else happened: another exception, a
message of several lines, or a file that took more than 10 s.
"""

from __future__ import annotations

import collections
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from benchmarks.damage import damaged, options
from nona.cluster.hardware.mig_parted import read_mig_parted
from nona.core.errors import NonaError
from nona.models.cost.measured import read_measured
from nona.scenario.traces import read_azure_functions, read_times, trace_columns
from nona.serverless.functions import grid
from nona.serverless.profiles import profile_times, read_profile, rows_of
from nona.training.job_files import read_job_table, read_trace
from nona.training.throughput_table import read_throughputs

MOST_S = 10.0
SPACE = grid([1, 2, 8], [1, 2], [1, 7])
STAMPS = b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"".join(
    b"2023-11-16 18:17:%02d.9799600,%d,44\n" % (second, 100 + second) for second in range(40)
)
FUNCTIONS = b"HashOwner,HashFunction,Trigger,1,2,3,4\n" + b"".join(
    b"o,f%d,http,%d,0,12,3\n" % (i, i) for i in range(20)
)
MEASURED = b"# taken here\nmodel,operator,device,ms,batch,stack\n" + b"".join(
    b"resnet18,conv%d,a100-40gb,0.5,%d,eager\n" % (i, 1 + i % 4) for i in range(20)
)
GAVEL = b"".join(
    b"ResNet-18 (batch size 32)\tpython3 main.py\tcv\t-n\t0\t%d\t%d\t1\t-1.000000\t%d\n"
    % (500 + i, 1 + i % 4, i)
    for i in range(20)
)
JOBS = b"model,steps,workers,weight,arrival\n" + b"".join(b"mine,%d,1,1,%d\n" % (90 + i, i) for i in range(9))
PROFILE = b"# taken here\nbatch,vcpus,gpu_percent,percentile,ms\n" + b"".join(
    b"%d,%d,%d,%d,%d.5\n" % (1 << b, v, g, p, 10 << b)
    for b in range(3)
    for v in (1, 2)
    for g in (10, 50)
    for p in (50, 95)
)
PARVAGPU = b"Mig instance,Batch size,Workload Number,Throughput,Latency\n" + b"".join(
    b"%d,%d,%d,%d.25,0.0%d\n" % (g, 1 << b, n, 100 * g, 1 + b)
    for g in (1, 2, 7)
    for b in range(4)
    for n in (1, 2)
)
INFLESS = b"".join(
    b"resnet-50 %d %d %d %d.000000\n" % (v, g, 1 << b, 9 << b)
    for v in (2, 4)
    for g in (0, 10)
    for b in range(4)
)
PARTED = b"""version: v1
mig-configs:
  two:
    - {devices: all, mig-enabled: true, mig-devices: {"3g.20gb": 2}}
  mixed:
    - {devices: [0], mig-enabled: true, mig-devices: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}
"""
ODD: tuple[bytes, ...] = (
    b"1e308",
    b"-1e308",
    b"99999999999",
    b"HashFunction,200000000\nf,1",
    b"9" * 5000,
    b"0x" + b"f" * 5000,
    b"!!binary gICA",
    b"!!int ''",
    b"!!timestamp x",
    b"\xed\xa0\x80",
    b'"',
    b"\r",
    b",,,,,,",
    "²".encode(),
    b"nan",
    b"-0",
)
"""Values that broke a reader once, or might."""


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of file: a valid one, and what reads it."""

    kind: str
    data: bytes
    read: Callable[[bytes], Any]


def tables() -> tuple[Table, ...]:
    """A valid file of every kind."""
    shipped = files("nona.training").joinpath("data/throughputs.csv").read_bytes()
    return (
        Table(
            "times", b"time\n" + b"".join(b"%d.5\n" % i for i in range(60)), lambda d: read_times(d, "t.csv")
        ),
        Table("azure-llm", STAMPS, lambda d: read_times(d, "t.csv")),
        Table("json lines", b'{"timestamp": 3, "tokens": [4, 5]}\n' * 40, lambda d: read_times(d, "t.jsonl")),
        Table("azure-functions", FUNCTIONS, lambda d: read_azure_functions(d, "t.csv")),
        Table("columns", FUNCTIONS, lambda d: trace_columns(d, "t.csv")),
        Table("measured", MEASURED, read_measured),
        Table("training trace", GAVEL, lambda d: read_trace(d, "t.trace")),
        Table("job table", JOBS, lambda d: read_job_table(d, "t.csv")),
        Table("throughputs", b"\n".join(shipped.split(b"\n")[:60]), lambda d: read_throughputs(d, "t.csv")),
        Table("profile", PROFILE, lambda d: profile_times(rows_of(read_profile(d), "f"), SPACE)),
        Table("profile of ParvaGPU", PARVAGPU, lambda d: profile_times(rows_of(read_profile(d), "f"), SPACE)),
        Table("profile of INFless", INFLESS, lambda d: profile_times(rows_of(read_profile(d), "f"), SPACE)),
        Table("mig-parted", PARTED, lambda d: read_mig_parted(d, "a100-40gb")),
    )


def outcome(table: Table, data: bytes) -> tuple[str, str]:
    """What became of one file, and the message."""
    begin = time.monotonic()
    try:
        table.read(data)
    except NonaError as error:
        what, message = "refused", str(error)
        if "\n" in message or not message:
            what = "ESCAPE"
    except Exception as error:  # what this program is looking for
        what, message = "ESCAPE", f"{type(error).__name__}: {error}"
    else:
        what, message = "read", ""
    return ("ESCAPE" if time.monotonic() - begin > MOST_S else what), message


def fuzz(mutations: int, seed: int, tell: Callable[[str], object]) -> dict[str, collections.Counter[str]]:
    """The outcomes by kind; ``tell`` gets a line for each that must not be."""
    rng, kinds = random.Random(seed), tables()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for number in range(mutations):
        table = kinds[number % len(kinds)]
        what, message = outcome(table, damaged(table.data, rng, ODD, 0.3, (0, 1, 5)))
        counts[table.kind][what] += 1
        if what == "ESCAPE":
            tell(f"{what}: mutation {number} of {table.kind} (seed {seed}): {message[:300]!r}")
    return counts


def main() -> int:
    """Fuzz and print the counts."""
    given = options("Damage real traces and tables at random and read them.")
    start = time.perf_counter()
    counts = fuzz(given.mutations, given.seed, print)
    print(f"{'kind':<18}" + "".join(f"{k:>10}" for k in ("read", "refused", "ESCAPE")))
    for kind, row in sorted(counts.items()):
        print(f"{kind:<18}" + "".join(f"{row[k]:>10}" for k in ("read", "refused", "ESCAPE")))
    print(f"{given.mutations} mutations in {time.perf_counter() - start:.0f} s")
    return int(any(row["ESCAPE"] for row in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
