"""Wide ensembles: many different networks classify the same images and vote."""

from __future__ import annotations

from nona.study.networks.task_graph import NodeLink, TaskGraphBuilder

BATCH, SIDES = 16, (224, 299, 384, 448)
GFLOP = (1.4, 3.6, 8.2, 15.5, 31.0, 55.0, 120.0, 210.0)  # of one image: ResNet-18 to large transformers
EFFICIENCY = 0.5  # of the rate of large products: small images fill a GPU badly
FEATURES, CLASSES = 2048, 1000


def wide_ensemble(members: int) -> NodeLink:
    """``members`` classifiers of a batch of 16 images, and a vote.

    Members of one image size share its scaling; every second member has two branches, for the image and for
    its edges, that meet in its last layer.

    >>> len(wide_ensemble(8)["nodes"])
    22
    """
    graph = TaskGraphBuilder()
    photo = graph.task("decode", 0, BATCH * 3 * 1024 * 768)
    scaled = [graph.task(f"scale{side}", 0, BATCH * 3 * side * side, photo) for side in SIDES]
    votes = []
    for m in range(members):
        work = BATCH * 1e9 * GFLOP[(3 * m) % len(GFLOP)] * (1 + m // len(GFLOP) / 4) / EFFICIENCY
        source = scaled[m % len(SIDES)]
        if m % 2:
            image = graph.task(f"net{m}.image", 0.7 * work, BATCH * FEATURES, source)
            edges = graph.task(f"net{m}.edges", 0.3 * work, BATCH * FEATURES, source)
            votes.append(graph.linear(f"net{m}.join", BATCH, 2 * FEATURES, CLASSES, image, edges))
        else:
            votes.append(graph.task(f"net{m}", work, BATCH * CLASSES, source))
    graph.task("vote", 0, BATCH, *votes)
    return graph.mapping(
        name=f"ensemble_{members}", description=f"{members} different classifiers and a vote"
    )
