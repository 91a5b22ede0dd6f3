"""MIG boards and layouts: which slices one GPU can hold at once, and where.

Source: NVIDIA's MIG user guide and ``nvidia-smi mig -lgip / -lgipp``; see ``data/sources.csv``.

A slice covers consecutive memory slices from one of its profile's legal starts. A layout is legal
iff its slices do not overlap on the memory axis, their compute slices fit the board, and no
profile occurs more often than it may. A layout is *maximal* when no slice can be added.

Source: NVIDIA MIG user guide, supported profiles and placements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import HardwareError
from nona.core.text import count_text


@dataclass(frozen=True, slots=True)
class SliceProfile:
    """A kind of slice: ``memory_slices`` from one of ``starts`` on the memory axis.

    ``memory_bytes`` counts as the catalogue's devices do. A "GB" of their data sheets is 2^30 bytes of
    memory; the catalogue reads it as 10^9, so 1024 MiB of nvidia-smi are 10^9 here too. The memory of the
    slices then never exceeds that of the GPU, and both are understated by 7 %.

    ``standard`` profiles are the plain one per number of compute slices; the others carry the
    media engines (``+me``) or twice the memory. ``checked`` is ``yes`` where both the placements
    and the SM count were seen in NVIDIA's own output.
    """

    name: str
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    max_instances: int
    sms: int
    memory_bytes: float
    standard: bool
    checked: str

    @property
    def limited_as(self) -> str:
        """The name that ``max_instances`` counts: a board has one set of media engines for all its slices."""
        return "+me" if self.name.endswith("+me") else self.name


@dataclass(frozen=True, slots=True)
class MigBoard:
    """A device that MIG can slice."""

    name: str
    memory_slices: int
    compute_slices: int
    profiles: tuple[SliceProfile, ...]

    def full_name(self, name: str) -> str:
        """Return a slice's name with its memory; one without is the standard profile of that size.

        >>> board("a100-40gb").full_name("3g"), board("a100-40gb").full_name("1g.5gb")
        ('3g.20gb', '1g.5gb')
        """
        alike = (p.name for p in self.profiles if p.standard and p.name.partition(".")[0] == name)
        return next(alike, name)

    def profile(self, name: str) -> SliceProfile:
        """Return the profile called ``name``; raises :class:`~nona.core.errors.HardwareError`.

        >>> board("a100-40gb").profile("3g.20gb").starts
        (0, 4)
        """
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise HardwareError(
            f"MIG slice {name!r}: the board {self.name!r} has no such profile; "
            f"use {', '.join(p.name for p in self.profiles)}."
        )


def assumed(board_name: str) -> str:
    """Name the figures of a board's profiles that NVIDIA's own output does not confirm; empty without any.

    >>> assumed("a30"), assumed("h100-94gb")
    ('', 'the SMs and memory of 3g.47gb, 4g.47gb, 7g.94gb')
    """
    rows = [
        r for r in shipped_table("nona.cluster.hardware", "data/mig_profiles.csv") if r["board"] == board_name
    ]
    parts = []
    for what, column in (("places", "placements_checked"), ("SMs and memory", "sms_checked")):
        names = [r["profile"] for r in rows if r[column] == "assumed"]
        if names:
            parts.append(f"the {what} of {'all' if len(names) == len(rows) else ', '.join(names)}")
    return "; ".join(parts)


@cache
def boards() -> Mapping[str, MigBoard]:
    """Return the known MIG boards by name, read from ``data/mig_profiles.csv``."""
    profiles: dict[str, list[SliceProfile]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for row in shipped_table("nona.cluster.hardware", "data/mig_profiles.csv"):
        sizes[row["board"]] = (int(row["board_memory_slices"]), int(row["board_compute_slices"]))
        sure = (row["placements_checked"], row["sms_checked"])
        profiles.setdefault(row["board"], []).append(
            SliceProfile(
                name=row["profile"],
                compute_slices=int(row["compute_slices"]),
                memory_slices=int(row["memory_slices"]),
                starts=tuple(int(s) for s in row["starts"].split()),
                max_instances=int(row["max_instances"]),
                sms=int(row["sms"]),
                memory_bytes=float(row["memory_mib"]) / 1024 * 1e9,
                standard=row["standard"] == "yes",
                checked=next((s for s in sure if s != "yes"), "yes"),
            )
        )
    return MappingProxyType({n: MigBoard(n, *sizes[n], tuple(p)) for n, p in profiles.items()})


def board(name: str) -> MigBoard:
    """Return the board called ``name``.

    Raises ``HardwareError`` when there is none.

    >>> board("a30").compute_slices
    4
    """
    try:
        return boards()[name]
    except KeyError:
        raise HardwareError(f"MIG board {name!r}: it is unknown; use {', '.join(boards())}.") from None


_SEPARATOR = re.compile(r"\s*[,;+\s]\s*(?!me\b|gfx\b)")
_TIMES = re.compile(r"\s*[×*]\s*|\s+x\s+|(?<=\d)x(?=\d)")
_PLACED = re.compile(r"(.+)@(\d{1,3})", re.ASCII)
MOST_SLICES = 64


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """One instance: a profile at a start on the memory axis."""

    start: int
    profile: str


@dataclass(frozen=True, slots=True)
class MigLayout:
    """Slices on one GPU, ordered by start.

    >>> layout = parse_layout("3g.20gb, 3g.20gb", "a100-40gb")
    >>> layout.memory_map, layout.stranded_compute, layout.stranded_memory
    ((0, 0, 0, 0, 1, 1, 1, 1), 1, 0)
    """

    board: str
    slices: tuple[Slice, ...]

    @property
    def profiles(self) -> tuple[SliceProfile, ...]:
        """The profiles of the slices, in the order of the slices."""
        return tuple(board(self.board).profile(s.profile) for s in self.slices)

    @property
    def text(self) -> str:
        """The slices as a text that :func:`parse_layout` reads, largest first."""
        return ", ".join(p.name for p in _largest(self))

    @property
    def memory_map(self) -> tuple[int, ...]:
        """The number of the slice that covers each memory slice of the board, or −1."""
        cells = [-1] * board(self.board).memory_slices
        for number, (piece, profile) in enumerate(zip(self.slices, self.profiles, strict=True)):
            cells[piece.start : piece.start + profile.memory_slices] = [number] * profile.memory_slices
        return tuple(cells)

    @property
    def maximal(self) -> bool:
        """True where no standard slice can be added."""
        return not any(_additions(board(self.board), self.slices, _standard(board(self.board))))

    @property
    def stranded_compute(self) -> int:
        """Compute slices that stay unused however standard slices are added."""
        whole = board(self.board)
        return whole.compute_slices - max(_used(whole, s)[0] for s in _completions(whole, self.slices))

    @property
    def stranded_memory(self) -> int:
        """Memory slices that stay unused however standard slices are added."""
        whole = board(self.board)
        return whole.memory_slices - max(_used(whole, s)[1] for s in _completions(whole, self.slices))


@cache
def legal_layouts(board_name: str, extended: bool = False) -> tuple[MigLayout, ...]:
    """All legal layouts with at least one slice; equal slices at other starts count apart.

    ``extended``: also with the profiles that carry media engines or twice the memory.

    >>> len(legal_layouts("a30"))
    25
    """
    whole = board(board_name)
    allowed = whole.profiles if extended else _standard(whole)
    return tuple(MigLayout(board_name, s) for s in _placed(whole, allowed) if s)


def maximal_layouts(board_name: str) -> tuple[MigLayout, ...]:
    """Return the legal layouts of standard slices to which none can be added.

    >>> len(maximal_layouts("a100-40gb")), len({layout.text for layout in maximal_layouts("a100-40gb")})
    (19, 14)
    """
    return tuple(layout for layout in legal_layouts(board_name) if layout.maximal)


def slice_names(text: str) -> list[str]:
    """Return the names in a layout's text, each as often as it stands for.

    >>> slice_names("3g.20gb + 2 × 2g.10gb"), slice_names("1g.5gb+me, 1g.5gb × 2")
    (['3g.20gb', '2g.10gb', '2g.10gb'], ['1g.5gb+me', '1g.5gb', '1g.5gb'])
    """
    names: list[str] = []
    for token in filter(None, _SEPARATOR.split(_TIMES.sub("×", text.strip()))):
        before, times, after = token.partition("×")
        count, name = (before, after) if before.isdecimal() else (after, before)
        names += [name] * min(int(count), MOST_SLICES + 1) if times and count[:9].isdecimal() else [token]
    return names


WHOLE = "whole"


def gpu_layouts(text: str | None, gpus: int) -> tuple[str | None, ...]:
    """Return the layout of each GPU of a server, by number; ``None`` where it is not divided.

    ``text``: one layout for all GPUs, or one for each with ``|`` between them, ``whole`` where not divided.

    Raises ``HardwareError`` for another number of layouts than GPUs.

    >>> gpu_layouts("7 × 1g.5gb | whole", 2), gpu_layouts("3g.20gb", 2), gpu_layouts(None, 1)
    (('7 × 1g.5gb', None), ('3g.20gb', '3g.20gb'), (None,))
    """
    layouts = [part.strip() for part in (text or WHOLE).split("|")]
    if len(layouts) not in (1, gpus):
        raise HardwareError(
            f"MIG layouts {text!r}: {len(layouts)} for {count_text(gpus, 'GPU')} of a server; give one for "
            f"each GPU ({WHOLE} where it is not divided), or one for all."
        )
    each = tuple(None if layout == WHOLE else layout for layout in layouts)
    return each if len(each) == gpus else each * gpus


def layouts_text(layouts: Sequence[str | None]) -> str | None:
    """Return the layouts of a server's GPUs as the shortest text that :func:`gpu_layouts` reads.

    >>> layouts_text(["3g.20gb", None]), layouts_text(["3g.20gb", "3g.20gb"]), layouts_text([None, None])
    ('3g.20gb | whole', '3g.20gb', None)
    """
    if len(set(layouts)) == 1:
        return layouts[0]
    return " | ".join(layout or WHOLE for layout in layouts)


def layout_words(text: str | None) -> str:
    """Return layouts for people: slices with counts, and how many GPUs have them where they differ.

    >>> layout_words("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb"), layout_words("1g.5gb, 1g.5gb | whole | whole")
    ('3g.20gb + 2g.10gb + 2 × 1g.5gb', '1 in 2 × 1g.5gb, 2 whole')
    """
    if "|" not in (text or ""):
        counts = Counter(slice_names(text or WHOLE))
        return " + ".join(n if count == 1 else f"{count} × {n}" for n, count in counts.items())
    kinds = Counter(layout_words(part) for part in str(text).split("|"))
    return ", ".join(f"{n} whole" if kind == WHOLE else f"{n} in {kind}" for kind, n in kinds.items())


@cache
def parse_layout(text: str, board_name: str) -> MigLayout:
    """Return the layout that holds the slices named in ``text``, in any order.

    All placements are tried, so a legal set of slices is never refused for its order. Among
    several placements the one that strands least is taken, then the first by start. A slice
    written as ``1g.5gb@3`` lies at that memory slice and nowhere else, one without its memory
    (``3g``) is the standard profile of that size, and ``7 × 1g.5gb`` are seven.

    Raises ``HardwareError`` for an unknown board or slice, or slices that do not fit together; the message
    says why.

    >>> [s.start for s in parse_layout("1g.5gb, 3g.20gb, 3g.20gb", "a100-40gb").slices]
    Traceback (most recent call last):
    nona.core.errors.HardwareError: MIG layout '1g.5gb, 3g.20gb, 3g.20gb': it needs 9 of 8 memory slices \
of the board 'a100-40gb'; use smaller or fewer slices.
    """
    whole = board(board_name)
    names = slice_names(text)
    if not names:
        raise HardwareError(
            f"MIG layout {text!r}: it names no slice; write for example {whole.profiles[0].name!r}."
        )
    if len(names) > MOST_SLICES:
        raise HardwareError(f"MIG layout: {len(names)} slices are more than any board holds; name fewer.")
    placed = [m.groups() for m in map(_PLACED.fullmatch, names) if m]
    wanted = [_profile(whole, _PLACED.sub(r"\1", name), text) for name in names]
    _check_totals(whole, wanted, text)
    fixed = {Slice(int(start), name) for name, start in placed}
    arranged = _arrangements(whole, wanted) if len(fixed) == len(placed) else set()
    fits = sorted(slices for slices in arranged if fixed.issubset(slices))
    if not fits:
        example = ", ".join(f"{p.name} at {' or '.join(map(str, p.starts))}" for p in dict.fromkeys(wanted))
        raise HardwareError(
            f"MIG layout {text!r}: the slices cannot be placed on the board {board_name!r} without overlap "
            f"(memory slices may start: {example}); use another combination."
        )
    layouts = [MigLayout(board_name, s) for s in fits]
    if len(layouts) == 1:
        return layouts[0]
    return min(layouts, key=lambda m: (m.stranded_compute, m.stranded_memory))


def _profile(whole: MigBoard, name: str, text: str) -> SliceProfile:
    names, name = {p.name for p in whole.profiles}, whole.full_name(name)
    if name not in names:
        elsewhere = [b.name for b in boards().values() if name in {p.name for p in b.profiles}]
        hint = f" (it belongs to {', '.join(elsewhere)})" if elsewhere else ""
        raise HardwareError(
            f"MIG layout {text!r}: the board {whole.name!r} has no slice {name!r}{hint}; "
            f"use {', '.join(p.name for p in whole.profiles)}."
        )
    return whole.profile(name)


def _check_totals(whole: MigBoard, wanted: Sequence[SliceProfile], text: str) -> None:
    limits = {p.limited_as: p.max_instances for p in wanted}
    for name, count in Counter(p.limited_as for p in wanted).items():
        if count > (most := limits[name]):
            raise HardwareError(
                f"MIG layout {text!r}: {count} slices {name!r} where the board {whole.name!r} holds at "
                f"most {most}; use fewer."
            )
    for what, need, have in (
        ("compute", sum(p.compute_slices for p in wanted), whole.compute_slices),
        ("memory", sum(p.memory_slices for p in wanted), whole.memory_slices),
    ):
        if need > have:
            raise HardwareError(
                f"MIG layout {text!r}: it needs {need} of {have} {what} slices of the board "
                f"{whole.name!r}; use smaller or fewer slices."
            )


def _standard(whole: MigBoard) -> tuple[SliceProfile, ...]:
    return tuple(p for p in whole.profiles if p.standard)


def _used(whole: MigBoard, slices: Sequence[Slice]) -> tuple[int, int]:
    profiles = [whole.profile(s.profile) for s in slices]
    return sum(p.compute_slices for p in profiles), sum(p.memory_slices for p in profiles)


def _placed(whole: MigBoard, allowed: Sequence[SliceProfile], at: int = 0) -> Iterator[tuple[Slice, ...]]:
    """Every legal set of slices from memory slice ``at`` on, each once, ordered by start."""
    if at >= whole.memory_slices:
        yield ()
        return
    yield from _placed(whole, allowed, at + 1)
    for profile in allowed:
        if at in profile.starts:
            for rest in _placed(whole, allowed, at + profile.memory_slices):
                slices = (Slice(at, profile.name), *rest)
                same = sum(whole.profile(s.profile).limited_as == profile.limited_as for s in slices)
                if _used(whole, slices)[0] <= whole.compute_slices and same <= profile.max_instances:
                    yield slices


def _additions(whole: MigBoard, slices: Sequence[Slice], allowed: Sequence[SliceProfile]) -> Iterator[Slice]:
    taken = {
        cell for s in slices for cell in range(s.start, s.start + whole.profile(s.profile).memory_slices)
    }
    free = whole.compute_slices - _used(whole, slices)[0]
    count = Counter(whole.profile(s.profile).limited_as for s in slices)
    for profile in allowed:
        if profile.compute_slices <= free and count[profile.limited_as] < profile.max_instances:
            for start in profile.starts:
                if taken.isdisjoint(range(start, start + profile.memory_slices)):
                    yield Slice(start, profile.name)


def _completions(whole: MigBoard, slices: tuple[Slice, ...]) -> Iterator[tuple[Slice, ...]]:
    """``slices`` and every legal set that holds them and standard slices more."""
    for extra in _standard_sets(whole):
        if _compatible(whole, slices, extra):
            yield (*slices, *extra)


@cache
def _standard_sets(whole: MigBoard) -> tuple[tuple[Slice, ...], ...]:
    return tuple(_placed(whole, _standard(whole)))


def _compatible(whole: MigBoard, slices: Sequence[Slice], extra: Sequence[Slice]) -> bool:
    both = [(s.start, whole.profile(s.profile)) for s in (*slices, *extra)]
    cells = [c for start, p in both for c in range(start, start + p.memory_slices)]
    if len(set(cells)) < len(cells) or sum(p.compute_slices for _, p in both) > whole.compute_slices:
        return False
    limits = {p.limited_as: p.max_instances for _, p in both}
    return all(n <= limits[name] for name, n in Counter(p.limited_as for _, p in both).items())


def _arrangements(whole: MigBoard, wanted: Sequence[SliceProfile]) -> set[tuple[Slice, ...]]:
    allowed = list(dict.fromkeys(wanted))
    count = Counter(p.name for p in wanted)
    return {s for s in _placed(whole, allowed) if Counter(x.profile for x in s) == count}


def divided_among(counts: Mapping[str, int], board_name: str, gpus: int) -> tuple[MigLayout, ...]:
    """Return a layout for each of some GPUs that together have so many slices of each profile, if there are.

    All alike where that can be, else with the fewest sizes of slices on a GPU, the largest slices first.

    Raises ``HardwareError`` for an unknown profile.

    >>> [m.text for m in divided_among({"3g.20gb": 2, "2g.10gb": 3, "1g.5gb": 1}, "a100-40gb", 2)]
    ['3g.20gb, 3g.20gb', '2g.10gb, 2g.10gb, 2g.10gb, 1g.5gb']
    """
    whole, needed = board(board_name), {name: count for name, count in counts.items() if count}
    profiles = [whole.profile(name) for name in needed]
    legal = legal_layouts(board_name, extended=not all(p.standard for p in profiles))
    layouts = [*{m.text: m for m in legal if {s.profile for s in m.slices} <= needed.keys()}.values()]
    own = [[sum(s.profile == name for s in m.slices) for name in needed] for m in layouts]
    for layout, each in zip(layouts, own, strict=True):
        if [gpus * n for n in each] == list(needed.values()):
            return (parse_layout(layout.text, board_name),) * gpus
    if not layouts or gpus > MOST_SLICES:
        return ()
    import numpy as np  # here, as most commands need neither
    from scipy.optimize import Bounds, LinearConstraint, milp

    wanted = np.array([*needed.values(), gpus])
    sums = LinearConstraint(np.array([[*each, 1] for each in own]).T, wanted, wanted)
    sizes = [len({*m.profiles}) for m in layouts]
    found = milp(sizes, integrality=np.ones(len(own), dtype=int), bounds=Bounds(0, gpus), constraints=sums)
    if found.x is None:
        return ()
    times = zip(layouts, np.rint(found.x).astype(int).tolist(), strict=True)
    chosen = [parse_layout(m.text, board_name) for m, n in times for _ in range(n)]
    return tuple(sorted(chosen, key=lambda m: [-p.compute_slices for p in _largest(m)]))


def _largest(layout: MigLayout) -> list[SliceProfile]:
    return sorted(layout.profiles, key=lambda p: (-p.compute_slices, -p.memory_slices, p.name))


def empty_layout(board_name: str) -> MigLayout:
    """Return a board without an instance; raises :class:`~nona.core.errors.HardwareError` for an unknown one.

    >>> empty_layout("a30").memory_map
    (-1, -1, -1, -1)
    """
    return MigLayout(board(board_name).name, ())


def layout_of(text: str, board_name: str) -> MigLayout:
    """Parse a layout as :func:`~nona.cluster.hardware.mig.parse_layout`; empty text is the empty layout."""
    return parse_layout(text, board_name) if text.strip() else empty_layout(board_name)


def why_not(layout: MigLayout, start: int, profile: SliceProfile) -> str:
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


def options_at(layout: MigLayout, start: int) -> tuple[SliceProfile, ...]:
    """Return the profiles that may legally start at memory slice ``start``, the largest first.

    >>> [p.name for p in options_at(parse_layout("4g.20gb", "a100-40gb"), 6)]
    ['1g.10gb', '1g.5gb', '1g.5gb+me']
    """
    legal = [p for p in board(layout.board).profiles if not why_not(layout, start, p)]
    return tuple(sorted(legal, key=lambda p: (-p.compute_slices, -p.memory_slices, p.name)))


def add_slice(layout: MigLayout, start: int, profile: str) -> MigLayout:
    """Return the layout with one instance more.

    Raises ``HardwareError`` for a profile that the board does not have, or that cannot start there; the
    message says why.
    """
    reason = why_not(layout, start, board(layout.board).profile(profile))
    if reason:
        raise HardwareError(
            f"MIG layout {placed_text(layout)!r}: {profile} cannot start at memory slice {start}, {reason}; "
            "choose another place or profile."
        )
    return MigLayout(layout.board, tuple(sorted((*layout.slices, Slice(start, profile)))))


def remove_slice(layout: MigLayout, start: int) -> MigLayout:
    """Return the layout without the instance that starts at memory slice ``start``.

    Raises ``HardwareError`` when none starts there.
    """
    kept = tuple(s for s in layout.slices if s.start != start)
    if len(kept) == len(layout.slices):
        raise HardwareError(
            f"MIG layout {placed_text(layout)!r}: no slice starts at memory slice {start}; "
            "choose one that does."
        )
    return MigLayout(layout.board, kept)


def placed_text(layout: MigLayout) -> str:
    """Return the shortest text that :func:`~nona.cluster.hardware.mig.parse_layout` reads as this layout.

    Names alone where they lead to these places, else with the place of each.

    >>> placed_text(MigLayout("a100-40gb", (Slice(0, "3g.20gb"), Slice(4, "3g.20gb"))))
    '3g.20gb, 3g.20gb'
    >>> placed_text(MigLayout("a100-40gb", (Slice(3, "1g.5gb"),)))
    '1g.5gb@3'
    """
    if not layout.slices or parse_layout(layout.text, layout.board) == layout:
        return layout.text
    return ", ".join(f"{s.profile}@{s.start}" for s in layout.slices)
