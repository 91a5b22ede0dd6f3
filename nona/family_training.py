"""What training clusters bring to the rooms that serve all families."""

from __future__ import annotations

from nona.family import Compiled, Family, PageEntry, SavedResult, TaskKind

_PARTS = ("cluster", "workload", "models", "simulation", "seed", "training", "cost")
_ELASTIC = ("cluster", "simulation", "seed", "training")

TRAINING = Family(
    name="training",
    pages=(
        PageEntry(
            "training",
            "Training",
            "model_training",
            "Who gets which GPU, when jobs train for hours?",
            takes="nona.ui.pages.training_form:take_jobs",
        ),
    ),
    commands=("nona.cli.commands.training:training",),
    tasks=(
        TaskKind("training", "training run", _PARTS, "nona.ui.tasks.training:run_training"),
        TaskKind("training-one-more", "comparison of GPUs", _PARTS, "nona.ui.tasks.training:add_one_gpu"),
        TaskKind("training-elastic", "run of elastic jobs", _ELASTIC, "nona.ui.tasks.training:run_elastic"),
    ),
    saved=(
        SavedResult(
            "training",
            "training run",
            "nona.results.training:TrainingOutcome",
            "nona.store.families:TRAINING",
        ),
        SavedResult(
            "training-elastic",
            "run of elastic jobs",
            "nona.results.elastic:ElasticHistory",
            "nona.store.families:TRAINING",
        ),
    ),
    styles=("nona.allocation.registry:POLICIES",),
    compiled=(
        Compiled("training", "nona.training.elastic.replications:make_ready", "nona/training/elastic"),
    ),
    keys=("training",),
    unknown="nona.study.training.unknown:unknown_names",
)
