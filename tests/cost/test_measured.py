"""Measured tables: what is read, what is refused, and that any text gives a table or one line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sizes import examples

from nona.cost.measured import MeasuredTable, read_measured
from nona.cost.options import CostOptions
from nona.errors import CostError

HEAD = "model,operator,device,ms"


def test_columns_may_come_in_any_order_and_tasks_are_operators():
    text = "# taken on a T4, clocks locked\nms,device,task,model,note\n1.5,t4,a,m,x\n"
    found = read_measured(text.encode())
    assert found.notes == ("taken on a T4, clocks locked",)
    assert found.times("m", "t4", CostOptions()) == {"a": 0.0015}


def test_rows_hold_for_their_batch_stack_and_precision():
    text = (
        f"{HEAD},batch,stack,precision\nm,a,t4,1,,,\nm,a,t4,2,8,,\nm,a,t4,3,8,eager,\nm,a,t4,4,8,eager,fp16\n"
    )
    found = read_measured(text)
    assert found.times("m", "t4", CostOptions()) == {"a": 1e-3}
    assert found.times("m", "t4", CostOptions(batch=8)) == {"a": 2e-3}
    assert found.times("m", "t4", CostOptions("eager", "fp16", 8)) == {"a": 4e-3}
    assert found.times("m", "t4", CostOptions(batch=2)) == {}


def test_the_very_model_wins_over_any_model():
    for rows in (["*,a,t4,1", "m,a,t4,2"], ["m,a,t4,2", "*,a,t4,1"]):
        found = read_measured("\n".join([HEAD, *rows]))
        assert found.times("m", "t4", CostOptions()) == {"a": 2e-3}
        assert found.times("n", "t4", CostOptions()) == {"a": 1e-3}


def test_a_byte_order_mark_and_windows_line_ends():
    assert read_measured(f"\ufeff{HEAD}\r\nm,a,t4,1\r\n".encode()).rows[0].time_s == 1e-3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no rows"),
        (HEAD, "no rows"),
        ("model,operator,ms\nm,a,1", "'device' is missing"),
        (f"{HEAD},ms\nm,a,d,1,1", "'ms' appears twice"),
        ("model,operator,task,device,ms\nm,a,a,d,1", "'operator' appears twice"),
        (f"{HEAD},extra\nm,a,d,1,1", "'extra' is unknown"),
        (f"{HEAD}\nm,a,d", "line 2: 3 cells"),
        (f"{HEAD}\nm,,d,1", "line 2: operator=''"),
        (f"{HEAD}\nm,a,d,fast", "ms='fast'"),
        (f"{HEAD}\nm,a,d,nan", "ms='nan'"),
        (f"{HEAD}\nm,a,d,-1", "ms='-1'"),
        (f"{HEAD}\nm,a,d,1e300", "ms='1e300'"),
        (f"{HEAD}\nm,a,d,1\nm,a,d,2", "line 3: 'a' on 'd' has a time already"),
        (f"{HEAD},batch\nm,a,d,1,zero", "batch='zero'"),
        (f"{HEAD},batch\nm,a,d,1,0", "batch='0'"),
        (f"{HEAD},stack\nm,a,d,1,magic", "stack='magic'"),
        (f"{HEAD},precision\nm,a,d,1,fp4", "precision='fp4'"),
        (f'{HEAD}\n"m,a,d,1', "line 2"),
        (f"{HEAD}\nm\0,a,d,1\x07", "ms="),
    ],
)
def test_broken_tables_name_the_line(text, why):
    with pytest.raises(CostError, match=why) as caught:
        read_measured(text)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text():
    with pytest.raises(CostError, match="byte 3 is not UTF-8"):
        read_measured(b"mod\xff")


@examples(200)
@given(
    st.one_of(
        st.binary(max_size=80), st.text(max_size=80).map(lambda t: f"{HEAD}\n{t}".encode(errors="ignore"))
    )
)
@example(b'model,operator,device,ms\n"\r\n')
def test_anything_gives_a_table_or_one_line(data):
    problem = ""
    try:
        found = read_measured(data)
    except CostError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1
    assert problem or isinstance(found, MeasuredTable)
