"""Notes on what the switches of a training cluster assume."""

from __future__ import annotations

from collections.abc import Sequence

from nona.scenario.training import TrainingSpec
from nona.training.model.job import Job
from nona.training.moves.sizes import checkpoint_bytes


def extension_notes(spec: TrainingSpec, jobs: Sequence[Job]) -> list[str]:
    """One sentence for each assumption that the reader cannot see in the scenario."""
    notes = []
    if spec.moves is not None or spec.regions is not None:
        training = [j for j in jobs if j.kind == "training"]
        by_model = sum(j.checkpoint_bytes <= 0 < checkpoint_bytes(j) for j in training)
        unknown = sum(checkpoint_bytes(j) <= 0 for j in training)
        if by_model:
            notes.append(
                f"Checkpoint sizes of {by_model} jobs are those of their models (weights and optimiser "
                "state, 4 bytes each; recollected or assumed)."
            )
        if unknown:
            notes.append(f"{unknown} jobs have no checkpoint size: their moves cost the warm-up only.")
    if spec.failures is not None:
        notes.append("Nodes fail after exponential times and are back at once; jobs restart where they were.")
    if spec.estimates is not None:
        notes.append("Claimed rates are the true ones times log-normal factors, an assumption.")
    if spec.regions is not None:
        notes.append("The planner of moves assumes that the jobs of a region share it equally.")
    return notes
