"""Maximal free rectangles against a board of unit squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.serverless.policies.gshare import FreeRectangles, Rectangle, best_fit

WIDTH, HEIGHT = 8, 7
Steps = list[tuple[int, int, int]]


def _board(gpu: FreeRectangles) -> np.ndarray:
    """How often each unit square is placed on."""
    board = np.zeros((HEIGHT, WIDTH), dtype=int)
    for x, y, w, h in gpu.used:
        board[y : y + h, x : x + w] += 1
    return board


def _maximal(board: np.ndarray) -> set[Rectangle]:
    """Every free rectangle that cannot grow to any side, by trying them all."""

    def empty(x: int, y: int, w: int, h: int) -> bool:
        inside = x >= 0 and y >= 0 and x + w <= WIDTH and y + h <= HEIGHT
        return inside and not board[y : y + h, x : x + w].any()

    every = (
        (x, y, w, h)
        for x in range(WIDTH)
        for y in range(HEIGHT)
        for w in range(1, WIDTH - x + 1)
        for h in range(1, HEIGHT - y + 1)
    )
    return {
        Rectangle(x, y, w, h)
        for x, y, w, h in every
        if empty(x, y, w, h)
        and not any(
            (
                empty(x - 1, y, w + 1, h),
                empty(x, y - 1, w, h + 1),
                empty(x, y, w + 1, h),
                empty(x, y, w, h + 1),
            )
        )
    }


@examples(40)
@given(st.lists(st.tuples(st.integers(1, WIDTH), st.integers(1, HEIGHT), st.integers(0, 3)), max_size=9))
def test_rectangles_never_overlap_and_free_ones_are_all_the_maximal_ones(steps: Steps) -> None:
    gpu = FreeRectangles(WIDTH, HEIGHT)
    for width, height, release in steps:
        before = gpu.free_area
        could = any(r.width >= width and r.height >= height for r in _maximal(_board(gpu)))
        pod = gpu.place(width, height)
        assert (pod is not None) == could
        assert gpu.free_area == before - (width * height if pod else 0)
        if release == 0 and gpu.used:
            gpu.release(gpu.used[len(gpu.used) // 2])
    board = _board(gpu)
    assert board.max(initial=0) <= 1
    assert gpu.free_area == (board == 0).sum()
    assert set(gpu.free) == _maximal(board)


def test_the_best_area_is_filled_first_and_releasing_undoes_placing() -> None:
    gpu = FreeRectangles(10, 10)
    wide = gpu.place(10, 7)
    assert gpu.best(3, 3) == Rectangle(0, 7, 10, 3)
    assert wide is not None
    gpu.release(wide)
    assert gpu.free == (Rectangle(0, 0, 10, 10),)
    with pytest.raises(SimulationError, match="is not placed here"):
        gpu.release(wide)


@pytest.mark.parametrize("sides", [(0, 1), (1, -1)])
def test_sides_without_extent_are_refused(sides: tuple[int, int]) -> None:
    with pytest.raises(SimulationError):
        FreeRectangles(*sides)
    with pytest.raises(SimulationError):
        FreeRectangles(2, 2).place(*sides)


def test_few_gpus_are_used() -> None:
    """Pods of 100, 50 and 50 by 2 of 4 fill one GPU before a second one is opened."""
    gpus = [FreeRectangles(100, 4) for _ in range(3)]
    for width in (100, 50, 50):
        number = best_fit(gpus, width, 2)
        assert number == 0
        gpus[number].place(width, 2)
    assert gpus[0].free == ()
    assert best_fit(gpus, 10, 1) == 1
