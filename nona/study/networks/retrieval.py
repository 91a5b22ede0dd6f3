"""Retrieval-augmented generation: shards searched in parallel, results reranked in a tree, an answer."""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder

VECTOR, PASSAGE = 1024, 256  # entries of an embedding, tokens of a passage
SHARD = 2_000_000  # vectors, searched one by one
KEPT, FAN_IN = 16, 4
EMBEDDER, RERANKER, GENERATOR = 110e6, 110e6, 1.3e9  # parameters; a token takes 2 FLOP for each
ANSWER = 12  # tokens, each of which reads all weights


def retrieval_tree(shards: int) -> NodeLink:
    """A question, ``shards`` searched, 16 passages of each scored, merged by fours, an answer and a check.

    >>> [len(retrieval_tree(n)["nodes"]) for n in (8, 32)]
    [34, 114]
    """
    graph = TaskGraphBuilder()
    question = graph.task("question", 0, 64)
    vector = graph.task("embed", 2 * EMBEDDER * 64, VECTOR, question, weights=EMBEDDER)
    found = []
    for s in range(shards):
        hits = graph.task(f"search{s}", 2 * SHARD * VECTOR, 4 * KEPT, vector, weights=SHARD * VECTOR)
        text = graph.task(f"fetch{s}", 0, 4 * KEPT * PASSAGE * 2, hits)
        score = 2 * RERANKER * KEPT * PASSAGE
        found.append(graph.task(f"score{s}", score, KEPT * PASSAGE * 2, text, question, weights=RERANKER))
    level = 0
    while len(found) > 1:
        groups = [found[i : i + FAN_IN] for i in range(0, len(found), FAN_IN)]
        found = [_merged(graph, f"merge{level}.{i}", group) for i, group in enumerate(groups)]
        level += 1
    prompt = graph.task("prompt", 0, KEPT * PASSAGE * 2, question, *found)
    read = 2 * GENERATOR * KEPT * PASSAGE
    state = graph.task("read", read, 24 * 2 * 2048 * KEPT * PASSAGE, prompt, weights=GENERATOR)
    answer = graph.task("answer", 0, ANSWER, state, weights=ANSWER * GENERATOR)
    sources = graph.task("check", 2 * EMBEDDER * KEPT * PASSAGE, KEPT, prompt, weights=EMBEDDER)
    graph.task("cite", 0, 512, answer, sources)
    return graph.mapping(
        name=f"retrieval_{shards}", description=f"{shards} shards searched and reranked, then generation"
    )


def _merged(graph: TaskGraphBuilder, name: str, group: list[str]) -> str:
    work = RERANKER * KEPT * PASSAGE / 2  # a quarter of the passages is scored again, side by side
    return graph.task(name, work, KEPT * PASSAGE * 2, *group, weights=RERANKER)
