"""The plan that the demo shows at once, because its search takes longer than anybody waits in a demo."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from nona.core.experiments import cores
from nona.planning.plan import plan, plan_outcome
from nona.planning.results import PlanOutcome
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.shipped import PLANNED, now_text
from nona.scenario.sample_files import shipped_scenario


def demo_plan() -> PlanOutcome:
    """Return the whole plan of the demo's scenario, as its page finds it."""
    scenario = shipped_scenario(PLANNED)
    return plan_outcome(prepare(scenario), plan(scenario, workers=cores()), now_text())


def main(arguments: Sequence[str]) -> None:
    """Write it to the file named: ``python -m evidence.demo_plan FILE``."""
    (name,) = arguments
    Path(name).write_text(json.dumps(demo_plan().to_json()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
