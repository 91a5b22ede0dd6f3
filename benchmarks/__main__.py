"""Run every benchmark in a process of its own: ``python -m benchmarks [NAME …]``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

NIGHTLY = {"fuzz_readers"}  # `make fuzz`
LIBRARY = {  # parts of benchmarks
    "__init__",
    "__main__",
    "app_server",
    "app_visitor",
    "c_loop",
    "ciw_queues",
    "decisions",
    "fork_join",
    "heap_loop",
    "idiomatic_simpy",
    "machine",
    "placement_trials",
}


def main() -> int:
    """Run the benchmarks named on the command line, or all but the nightly ones."""
    found = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in LIBRARY)
    names = sys.argv[1:] or [n for n in found if n not in NIGHTLY]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
