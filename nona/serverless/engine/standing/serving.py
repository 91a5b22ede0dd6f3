"""Which controller a planner is served by."""

from __future__ import annotations

from nona.serverless.engine.choice import Choice
from nona.serverless.engine.controller import Controller
from nona.serverless.engine.execution import Execution
from nona.serverless.engine.parts import Parts
from nona.serverless.engine.standing.instances import Standing
from nona.serverless.policies.base import Planner, Scaler, Scales


def scaler_of(planner: Planner) -> Scaler | None:
    """The planner's scaler; ``None`` for one whose batches have leases of their own."""
    return planner.scaler if isinstance(planner, Scales) else None


def controller_of(
    planner: Planner, parts: Parts, choice: Choice, execution: Execution
) -> Controller | Standing:
    """One that runs instances where the planner has a scaler for them, else one that takes leases."""
    scaler = scaler_of(planner)
    if scaler is None:
        return Controller(planner, parts, choice, execution)
    return Standing(planner, scaler, parts, choice, execution)
