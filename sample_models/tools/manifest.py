"""The manifest: an entry for each sample model, with its figures and how to make it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.catalogue import Sample
from tools.count import Counts

FILE = "MANIFEST.json"
NOTE = (
    "Weight-free ONNX graphs. operators and edges count what depends on an input; gmac counts the "
    "multiply-adds of convolutions and matrix products of one query in 10^9; parameters is the number of "
    "weights of the network as its library builds it (norms that the exporter folds into convolutions "
    "included); weight_elements is what the graph refers to. Written by make_models.py."
)


def entry(
    sample: Sample, data: bytes, counts: Counts, parameters: int, versions: Mapping[str, str]
) -> dict[str, Any]:
    """The manifest's entry for a model whose file holds ``data``."""
    return {
        "name": sample.name,
        "file": f"{sample.name}.onnx",
        "description": sample.description,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "nodes": counts.nodes,
        "operators": counts.operators,
        "edges": counts.edges,
        "gmac": round(counts.macs / 1e9, 6),
        "parameters": parameters,
        "weight_elements": counts.weight_elements,
        "source": sample.source,
        "architecture": sample.paper,
        "licence": sample.licence,
        "exporter": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "regenerate": f"python sample_models/make_models.py {sample.name}",
    }


def update(folder: Path, entries: Sequence[Mapping[str, Any]], order: Sequence[str]) -> None:
    """Put ``entries`` into the manifest of ``folder``; those of other models stay as they are."""
    path = folder / FILE
    old = json.loads(path.read_text(encoding="utf-8"))["models"] if path.is_file() else []
    merged = {e["name"]: e for e in (*old, *entries)}
    models = [merged[name] for name in order if name in merged]
    text = json.dumps({"note": NOTE, "models": models}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
