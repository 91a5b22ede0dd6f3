"""The demo's story of a training cluster."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nona.ui.pages.demo.story import Step, Story

TRAINING = "pages/10_training.py"
SHORT: Mapping[str, float | str] = MappingProxyType({"simulation.replications": 1})
TRAINING_STORY = Story(
    "Who should get which GPU, when jobs train for hours?",
    "shared_research_cluster",
    (
        Step(
            TRAINING,
            "Every policy gets the same jobs on the same GPUs. The chart sets mean JCT against cost.",
            SHORT,
            (("training-tabs", "Policies"),),
            "training",
        ),
        Step(
            TRAINING,
            "Which job had which GPU. Click a bar: the table says why each job ran or waited in that round.",
            SHORT,
            (("training-tabs", "Rounds"),),
            "training",
        ),
        Step(
            TRAINING,
            "The share of time that the policy allocates to each job on each type, beside what it received.",
            SHORT,
            (("training-tabs", "Allocation"),),
            "training",
        ),
        Step(
            TRAINING,
            "Who would be faster on an equal share of the cluster.",
            SHORT,
            (("training-tabs", "Fairness"),),
            "training",
        ),
    ),
)
