"""Families of schedulers: how lists of schedulers are grouped."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Family = Literal["practice", "queueing", "heuristic", "learned", "allocation", "placement", "other"]

#: The families in the order of lists, with the titles shown there; ``other`` is for those that declare none.
FAMILY_TITLES: Mapping[Family, str] = MappingProxyType(
    {
        "placement": "Optimised placement",
        "practice": "In common use",
        "queueing": "Queueing",
        "heuristic": "Heuristics",
        "learned": "Learned",
        "allocation": "Allocation in rounds",
        "other": "Others",
    }
)
