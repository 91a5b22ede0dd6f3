"""Make the weight-free sample models again.

    python sample_models/make_models.py [--output FOLDER] [NAME ...]

It needs torch, torchvision, transformers and onnxscript, which Nona Planner itself does not
(README.md beside this file says how to install them), and about 4 GB of memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools import manifest
from tools.catalogue import SAMPLES, Sample
from tools.count import count
from tools.export import export
from tools.libraries import versions

HERE = Path(__file__).resolve().parent


def make(sample: Sample, folder: Path, found: dict[str, str]) -> dict[str, object]:
    """Write ``<name>.onnx`` into ``folder`` and return its entry for the manifest."""
    built = sample.build()
    facts = {"source": sample.source, "licence": sample.licence, "made_by": "sample_models/make_models.py"}
    model = export(built, sample.name, facts)
    data = model.SerializeToString(deterministic=True)
    parameters = sum(p.numel() for p in built.module.parameters())
    result = manifest.entry(sample, data, count(model), parameters, found)
    (folder / f"{sample.name}.onnx").write_bytes(data)
    return result


def main() -> int:
    """Export the models named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Make the weight-free sample models again.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to make (default: all)")
    parser.add_argument("--output", type=Path, default=HERE, help="folder for the files")
    arguments = parser.parse_args()
    known = [s.name for s in SAMPLES]
    unknown = sorted(set(arguments.names) - set(known))
    if unknown:
        print(f"Unknown model {unknown[0]!r}; choose from {', '.join(known)}.", file=sys.stderr)
        return 2
    arguments.output.mkdir(parents=True, exist_ok=True)
    found = versions()
    for sample in SAMPLES:
        if sample.name in (arguments.names or known):
            start = time.perf_counter()
            made = make(sample, arguments.output, found)
            manifest.update(arguments.output, [made], known)
            print(
                f"{sample.name}: {made['operators']} operators, {made['edges']} edges, {made['gmac']} GMAC, "
                f"{made['bytes']} bytes, {time.perf_counter() - start:.1f} s"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
