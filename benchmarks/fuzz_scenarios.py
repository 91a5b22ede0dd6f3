"""Damage shipped scenarios, links and bundles at random, and open them: each is opened or refused in lines.

An opened one must be valid when it is written and read again. Each mutation may take 10 s, and all
memory together may grow by 1 GiB. Run it with ``python -m benchmarks.fuzz_scenarios [MUTATIONS] [SEED]``.
"""

from __future__ import annotations

import base64
import collections
import io
import random
import resource
import signal
import sys
import time
import zipfile
import zlib
from pathlib import Path
from types import FrameType

from benchmarks.damage import damaged, options
from nona.app.session.share import Shared, pack, unpack
from nona.core.errors import NonaError, ScenarioError
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.lookup import Sources
from nona.scenario.opening import SCENARIO, open_bytes, open_scenario, pack_bundle, read_bundle
from nona.scenario.sample_files import scenario_names, scenario_path
from nona.scenario.schema import Scenario

MOST_S = 10
MOST_BYTES = 2**30
WORDS = (
    *(b"\xed\xa0\x80", b'"\\ud800"', b"1" * 400, b"0x" + b"f" * 5000, b"1" + b":10" * 2500, b"!!int ''"),
    *(b"!!bool x", b"!!timestamp x", b"!!binary gICA", b"2020-01-01", b"&a [*a]", b"{" * 60, b"1e308"),
    *(
        b"a100",
        b"mig: nonsense",
        b"<<: {a: 1}",
        b"[x](http://foreign.example)",
        "é".encode() * 190 + b".json",
    ),
)


class TooLongError(BaseException):
    """The time for one mutation is over."""


def seeds() -> list[tuple[str, bytes]]:
    """Shipped scenarios as text, as links and as bundles."""
    found = []
    for name in scenario_names():
        opened = open_scenario(scenario_path(name))
        found.append(("yaml", dump_scenario(opened.scenario).encode()))
        found.append(("link", pack(Shared(opened.scenario)).encode()))
        found.append(("bundle", pack_bundle(opened.scenario, opened.sources)))
    return found


def mutate(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one to three random changes."""
    return damaged(data, rng, WORDS, 0.4, (0, 0, 5))


def changed(kind: str, data: bytes, rng: random.Random) -> bytes:
    """A mutation; half of the bundles and links are packed again around a changed scenario."""
    if kind == "yaml" or rng.random() < 0.5:
        return mutate(data, rng)
    if kind == "link":
        text = zlib.decompress(base64.urlsafe_b64decode(data[2:] + b"=" * (-len(data[2:]) % 4)))
        return b"1." + base64.urlsafe_b64encode(zlib.compress(mutate(text, rng))).rstrip(b"=")
    held = read_bundle(data)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, mutate(content, rng) if name == SCENARIO else content)
    return out.getvalue()


def open_as(kind: str, data: bytes) -> Scenario:
    """The scenario that a link, a bundle or a text brings."""
    if kind == "link":
        return unpack(data.decode("utf-8", "surrogateescape")).scenario
    return open_bytes(data, f"damaged.{kind}", Sources(in_memory={})).scenario


def outcome(kind: str, data: bytes) -> tuple[str, str]:
    """What became of one mutation, and the message."""
    try:
        scenario = open_as(kind, data)
        return (
            ("opened", "") if parse_scenario(dump_scenario(scenario)) == scenario else ("ESCAPE", "changed")
        )
    except NonaError as error:
        lines = error.problems if isinstance(error, ScenarioError) else (str(error),)
        good = bool(lines) and all(line.isprintable() for line in lines)
        return ("refused" if good else "ESCAPE"), str(error)
    except TooLongError:
        return "ESCAPE", f"longer than {MOST_S} s"
    except Exception as error:  # what this program is looking for
        return "ESCAPE", f"{type(error).__name__}: {error}"


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooLongError


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def main() -> int:
    """Fuzz and print the counts."""
    given = options("Damage shipped scenarios, links and bundles at random, and open them.")
    rng = random.Random(given.seed)
    files = seeds()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    signal.signal(signal.SIGALRM, _stop)
    _limit_memory()
    start, slowest = time.perf_counter(), 0.0
    for number in range(given.mutations):
        kind, data = files[number % len(files)]
        altered, begun = changed(kind, data, rng), time.perf_counter()
        signal.alarm(MOST_S)
        what, message = outcome(kind, altered)
        signal.alarm(0)
        slowest = max(slowest, time.perf_counter() - begun)
        counts[kind][what] += 1
        if what == "ESCAPE":
            print(f"ESCAPE: mutation {number} of a {kind} (seed {given.seed}): {message[:300]!r}")
    for kind, row in sorted(counts.items()):
        print(f"{kind:<10}" + "".join(f"{k:>10} {row[k]:>6}" for k in ("opened", "refused", "ESCAPE")))
    print(f"{given.mutations} in {time.perf_counter() - start:.0f} s, the slowest took {slowest:.1f} s")
    return int(any(row["ESCAPE"] for row in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
