"""Damaged files: whatever the bytes, a model graph or an error of one line comes out."""

import random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sizes import examples

from benchmarks.fuzz_readers import mutate, outcome, seeds
from nona.errors import GraphError
from nona.graph.guard import GuardedWorker
from nona.graph.node_link import from_node_link
from nona.graph.registry import READERS

SETTINGS = examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
SEEDS = seeds()
SUFFIXES = [reader.suffixes[0] for reader in READERS.values()]


@pytest.fixture(scope="module")
def worker():
    with GuardedWorker() as running:
        yield running


@SETTINGS
@given(st.binary(max_size=300), st.sampled_from(SUFFIXES))
def test_arbitrary_bytes(worker, data, suffix):
    what, message = outcome(data, f"any{suffix}", worker)
    assert what in ("graph", "refused"), message


@SETTINGS
@given(st.integers(0, 10**9), st.sampled_from(SEEDS))
def test_mutated_real_files(worker, seed, real):
    name, data = real
    what, message = outcome(mutate(name, data, random.Random(seed)), name, worker)
    assert what != "ESCAPE", message


words = st.sampled_from(
    ["nodes", "edges", "links", "graph", "id", "source", "target", "bytes", "tensor", "a"]
)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
    max_leaves=20,
)


@SETTINGS
@given(
    st.fixed_dictionaries(
        {"nodes": st.lists(trees | st.fixed_dictionaries({"id": trees}))},
        optional={"edges": trees, "graph": trees},
    )
)
def test_arbitrary_documents(document):
    message = ""
    try:
        from_node_link(document)
    except GraphError as error:
        message = str(error)
    assert "\n" not in message
