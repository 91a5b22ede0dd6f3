"""The generated networks by name: what each is, its family, and the function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from nona.errors import GraphError
from nona.study.networks.diffusion_loop import diffusion_loop
from nona.study.networks.encoder_decoder import encoder_decoder
from nona.study.networks.ensemble import wide_ensemble
from nona.study.networks.mixture import mixture_of_experts
from nona.study.networks.multimodal import multimodal
from nona.study.networks.recommender import two_tower
from nona.study.networks.retrieval import retrieval_tree
from nona.study.networks.speech import whisper_small
from nona.study.networks.stable_diffusion import stable_diffusion_u_net
from nona.study.networks.task_graph import NodeLink
from nona.study.networks.u_net import u_net


@dataclass(frozen=True, slots=True)
class GeneratedNetwork:
    """A generated network: ``build`` returns node-link data for the key ``models`` of a scenario.

    ``interior`` counts the tasks of its largest sub-graph's interior after contraction.
    """

    name: str
    family: str
    interior: int
    description: str
    build: Callable[[], NodeLink]


def _experts(experts: int, layers: int, interior: int) -> GeneratedNetwork:
    what = f"{layers} transformer block{'s' if layers > 1 else ''} with {experts} experts of one total size"
    build = partial(mixture_of_experts, experts, layers)
    return GeneratedNetwork(f"mixture_{experts}", "mixture of experts", interior, what, build)


def _ensemble(members: int, interior: int) -> GeneratedNetwork:
    what = f"{members} different classifiers of 16 images in parallel, and a vote"
    return GeneratedNetwork(
        f"ensemble_{members}", "ensemble", interior, what, partial(wide_ensemble, members)
    )


def _retrieval(shards: int, interior: int) -> GeneratedNetwork:
    what = f"{shards} shards searched in parallel, reranked in a tree, then generation"
    return GeneratedNetwork(
        f"retrieval_{shards}", "retrieval", interior, what, partial(retrieval_tree, shards)
    )


def _two_tower(tables: int, interior: int) -> GeneratedNetwork:
    what = f"two towers on {tables} embedding tables, a batch of 4096"
    return GeneratedNetwork(f"two_tower_{tables}", "recommender", interior, what, partial(two_tower, tables))


def _diffusion(steps: int, interior: int) -> GeneratedNetwork:
    what = f"text to image: encoders, {steps} steps of two passes each, decoder"
    build = partial(diffusion_loop, steps)
    return GeneratedNetwork(f"diffusion_{steps}", "diffusion loop", interior, what, build)


_ALL = (
    GeneratedNetwork(
        "encoder_decoder_8",
        "encoder–decoder",
        194,
        "8 + 8 layers of width 1024, 512 tokens, with a cache of keys and values",
        partial(encoder_decoder, 8),
    ),
    GeneratedNetwork(
        "encoder_decoder_12",
        "encoder–decoder",
        290,
        "12 + 12 layers of width 4096, 512 tokens, with a cache of keys and values",
        partial(encoder_decoder, 12, width=4096),
    ),
    GeneratedNetwork(
        "whisper_small",
        "encoder–decoder",
        169,
        "speech, the layer sizes of Whisper small, 30 s",
        whisper_small,
    ),
    GeneratedNetwork(
        "u_net_128", "U-Net", 110, "3 levels of 2 blocks, 128 channels, 64 × 64", partial(u_net, 3, 2)
    ),
    GeneratedNetwork(
        "stable_diffusion_u_net",
        "U-Net",
        248,
        "the layer sizes of Stable Diffusion 1.5, one denoising step",
        stable_diffusion_u_net,
    ),
    _experts(8, 2, 32),
    _experts(16, 2, 64),
    _experts(32, 1, 128),
    _experts(64, 1, 256),
    _ensemble(8, 20),
    _ensemble(16, 36),
    _retrieval(8, 10),
    _retrieval(32, 42),
    _two_tower(16, 20),
    _two_tower(64, 68),
    _diffusion(4, 14),
    _diffusion(20, 62),
    GeneratedNetwork(
        "multimodal",
        "multimodal",
        83,
        "vision, audio and text towers, then a transformer over all",
        multimodal,
    ),
)

#: Name → generated network.
NETWORKS: Mapping[str, GeneratedNetwork] = MappingProxyType({n.name: n for n in _ALL})


def network_names() -> tuple[str, ...]:
    """All names, family by family.

    >>> len(network_names()) >= 12
    True
    """
    return tuple(NETWORKS)


def network_named(name: str) -> GeneratedNetwork:
    """The generated network called ``name``.

    Raises
    ------
    GraphError
        When there is none.
    """
    if name not in NETWORKS:
        raise GraphError(
            f"Network {name!r}: no generated network has that name; choose one of {', '.join(NETWORKS)}."
        )
    return NETWORKS[name]
