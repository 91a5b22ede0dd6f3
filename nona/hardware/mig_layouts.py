"""MIG layouts edited.

The layout without an instance is the start of any edit; a GPU in use needs at least one.

Source of the placements: NVIDIA MIG user guide, see :mod:`nona.hardware.mig`.
"""

from __future__ import annotations

from collections import Counter

from nona.errors import HardwareError
from nona.hardware.mig import MigLayout, Profile, Slice, board, parse_layout


def empty_layout(board_name: str) -> MigLayout:
    """A board without an instance; raises :class:`~nona.errors.HardwareError` for an unknown one.

    >>> empty_layout("a30").memory_map
    (-1, -1, -1, -1)
    """
    return MigLayout(board(board_name).name, ())


def layout_of(text: str, board_name: str) -> MigLayout:
    """Parse a layout as :func:`~nona.hardware.mig.parse_layout`; empty text is the empty layout."""
    return parse_layout(text, board_name) if text.strip() else empty_layout(board_name)


def why_not(layout: MigLayout, start: int, profile: Profile) -> str:
    """Name the reason why ``profile`` cannot start at memory slice ``start`` of ``layout``; empty if it can.

    >>> whole = board("a100-40gb")
    >>> why_not(empty_layout("a100-40gb"), 4, whole.profile("4g.20gb"))
    'it may start at memory slice 0 only'
    >>> why_not(parse_layout("4g.20gb", "a100-40gb"), 4, whole.profile("3g.20gb"))
    ''
    """
    whole = board(layout.board)
    if start not in profile.starts:
        only = " only" if len(profile.starts) == 1 else ""
        return f"it may start at memory slice {' or '.join(map(str, profile.starts))}{only}"
    if any(owner >= 0 for owner in layout.memory_map[start : start + profile.memory_slices]):
        return f"it needs the memory slices {start} to {start + profile.memory_slices - 1}"
    free = whole.compute_slices - sum(p.compute_slices for p in layout.profiles)
    if profile.compute_slices > free:
        return f"it needs {profile.compute_slices} compute slices, {free} are left"
    if Counter(p.limited_as for p in layout.profiles)[profile.limited_as] >= profile.max_instances:
        return f"the board holds at most {profile.max_instances} of {profile.limited_as}"
    return ""


def options_at(layout: MigLayout, start: int) -> tuple[Profile, ...]:
    """The profiles that may legally start at memory slice ``start``, the largest first.

    >>> [p.name for p in options_at(parse_layout("4g.20gb", "a100-40gb"), 6)]
    ['1g.10gb', '1g.5gb', '1g.5gb+me']
    """
    legal = [p for p in board(layout.board).profiles if not why_not(layout, start, p)]
    return tuple(sorted(legal, key=lambda p: (-p.compute_slices, -p.memory_slices, p.name)))


def add_slice(layout: MigLayout, start: int, profile: str) -> MigLayout:
    """The layout with one instance more.

    Raises
    ------
    HardwareError
        For a profile that the board does not have, or that cannot start there; the message says why.
    """
    reason = why_not(layout, start, board(layout.board).profile(profile))
    if reason:
        raise HardwareError(
            f"MIG layout {placed_text(layout)!r}: {profile} cannot start at memory slice {start}, {reason}; "
            "choose another place or profile."
        )
    return MigLayout(layout.board, tuple(sorted((*layout.slices, Slice(start, profile)))))


def remove_slice(layout: MigLayout, start: int) -> MigLayout:
    """The layout without the instance that starts at memory slice ``start``.

    Raises
    ------
    HardwareError
        When none starts there.
    """
    kept = tuple(s for s in layout.slices if s.start != start)
    if len(kept) == len(layout.slices):
        raise HardwareError(
            f"MIG layout {placed_text(layout)!r}: no instance starts at memory slice {start}; "
            "choose one that does."
        )
    return MigLayout(layout.board, kept)


def placed_text(layout: MigLayout) -> str:
    """The shortest text that :func:`~nona.hardware.mig.parse_layout` reads as this very layout.

    Names alone where they lead to these places, else with the place of each.

    >>> placed_text(MigLayout("a100-40gb", (Slice(0, "3g.20gb"), Slice(4, "3g.20gb"))))
    '3g.20gb, 3g.20gb'
    >>> placed_text(MigLayout("a100-40gb", (Slice(3, "1g.5gb"),)))
    '1g.5gb@3'
    """
    if not layout.slices or parse_layout(layout.text, layout.board) == layout:
        return layout.text
    return ", ".join(f"{s.profile}@{s.start}" for s in layout.slices)
