"""What training clusters bring to the rooms that serve all families."""

from __future__ import annotations

from nona.core.family import Compiled, Family, PageEntry, ResultKind, TaskKind

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
            takes="nona.app.pages.training.form:take_jobs",
        ),
    ),
    commands=("nona.cli.commands.training:training",),
    tasks=(
        TaskKind("training", "training run", _PARTS, "nona.app.tasks.training:run_training"),
        TaskKind("training-one-more", "comparison of GPUs", _PARTS, "nona.app.tasks.training:add_one_gpu"),
        TaskKind("training-elastic", "run of elastic jobs", _ELASTIC, "nona.app.tasks.training:run_elastic"),
    ),
    saved=(
        ResultKind(
            "training",
            "training run",
            "nona.training.results:TrainingOutcome",
            "nona.app.store.families:TRAINING",
        ),
        ResultKind(
            "training-elastic",
            "run of elastic jobs",
            "nona.training.elastic.results:ElasticHistory",
            "nona.app.store.families:TRAINING",
        ),
    ),
    styles=("nona.allocation.registry:POLICIES",),
    compiled=(
        Compiled("training", "nona.training.elastic.replications:make_ready", "nona/training/elastic"),
    ),
    keys=("training",),
    unknown="nona.training.workflows.unknown:unknown_names",
)
