"""Run every benchmark in a process of its own: ``python -m benchmarks [NAME …]``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

NIGHTLY = {"fuzz_readers", "fuzz_scenarios", "fuzz_tables", "chaos"}  # `make fuzz`, `make chaos`
PROGRAM = 'if __name__ == "__main__":'  # the other files are parts of benchmarks


def main() -> int:
    """Run the benchmarks named on the command line, or all but the nightly ones."""
    files = (p for p in Path(__file__).parent.glob("[a-z]*.py") if PROGRAM in p.read_text(encoding="utf-8"))
    names = sys.argv[1:] or sorted(p.stem for p in files if p.stem not in NIGHTLY)
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
