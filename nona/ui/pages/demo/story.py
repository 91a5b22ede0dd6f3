"""A story of the demo: a question, and a few steps on the pages that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes
    ----------
    page
        The file of the page on which it takes place.
    text
        What to look for there, in one or two sentences. It is read before the result is there and states no
        outcome: that comes from the result (:func:`nona.ui.pages.demo.outcome.outcome_text`).
    changes
        Changes of the story's scenario (path → value).
    choices
        What is open on the page: (widget, value).
    run
        The kind of job whose result the page shows; it starts unless the result is there.
    against
        Whether the step before is the baseline of this one's simulation.
    """

    page: str
    text: str
    changes: Mapping[str, float | str] = field(default_factory=dict)
    choices: tuple[tuple[str, str], ...] = ()
    run: str = ""
    against: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """A question, the shipped scenario and the model that answer it, and at most five steps."""

    question: str
    scenario: str
    steps: tuple[Step, ...]
    model: str = ""
