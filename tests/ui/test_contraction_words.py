"""What the Contraction page says of splitting: both shares are of the same computing time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nona.ui.pages.models import contraction_headline

SPAN: Any = SimpleNamespace(local_s=0.010, best_s=0.0078)


def test_what_the_link_leaves_is_a_share_of_the_computing_time() -> None:
    """At most 36 ms of 100 ms can be saved, 2.2 ms over the link: 2.2 % of the whole, 6 % of the most."""
    costed = SimpleNamespace(total_compute_s=0.1, critical_path_s=0.064, device="a100-40gb")
    contracted = SimpleNamespace(graph=SimpleNamespace(operators=[0] * 9), tasks=[0] * 4)
    loaded: Any = SimpleNamespace(prepared=SimpleNamespace(contracted=contracted, costed=[costed]))
    first, second = contraction_headline(loaded, [SPAN], "100 Gbit/s")
    assert "at most 36.0 % of the computing time" in first
    assert "splitting saves 2.2 % of that time (2.2 ms of 100 ms)" in second
    assert "remains" not in second
