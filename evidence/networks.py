"""Generated networks of kinds that the samples lack, by name.

Latents of 64 × 64; levels of 320, 640, 1280 and 1280 channels,
two residual blocks each on the way down and three on the way up, transformers with attention to 77 tokens
of text on all but the deepest level, skips from every block down to its fellow up.

Source of the sizes: Rombach et al., High-resolution image synthesis with latent diffusion models, CVPR 2022,
and the model's published configuration (recollected). Tasks are coarser than the operators of an exporter.

A product of n tokens with a d × e matrix takes 2·n·d·e FLOP; norms and sums are fused with their
neighbours and take a launch each.

Source of the sizes: Radford et al., Robust speech recognition via large-scale weak supervision, ICML 2023,
table 1 (recollected): 12 + 12 layers of width 768; 30 s of audio are 1500 tokens.

Source of the sizes: Jiang et al., Mixtral of experts, 2024 (8 experts of width 14336 beside a width of 4096,
two for each token); that many small experts keep the total: Dai et al., DeepSeekMoE, ACL 2024 (recollected).

Source of the layout: Naumov et al., Deep learning recommendation model for personalization and
recommendation systems, 2019 (recollected); sizes assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from evidence import network_layers

LEVELS = (320, 640, 1280, 1280)
TEXT_TOKENS, TEXT_WIDTH, TIME_WIDTH = 77, 768, 1280


def _stable_diffusion_u_net(side: int = 64) -> network_layers.NodeLink:
    """One denoising step on latents of ``side`` × ``side``.

    >>> total_ms = sum(node["compute_ms"] for node in _stable_diffusion_u_net()["nodes"])
    >>> 65 < total_ms < 90
    True
    """
    net = _UNet(network_layers.TaskGraphBuilder(flops=network_layers.SINGLE_FLOPS))
    graph = net.graph
    net.time = graph.linear("time", 1, TIME_WIDTH, TIME_WIDTH)
    net.text = graph.task("text", 0, TEXT_TOKENS * TEXT_WIDTH)
    x = graph.convolution("conv_in", side, 4, LEVELS[0], graph.task("latents", 0, 4 * side * side))
    skips, width = [(x, LEVELS[0])], LEVELS[0]
    for level, channels in enumerate(LEVELS):
        for block in range(2):
            x = net.block(f"down{level}.{block}", x, side >> level, width, channels, level < 3)
            width = channels
            skips.append((x, width))
        if level < 3:
            x = graph.convolution(f"down{level}.halve", side >> (level + 1), width, width, x)
            skips.append((x, width))
    x = net.block("middle.0", x, side >> 3, width, width, True)
    x = net.block("middle.1", x, side >> 3, width, width, False)
    for level in reversed(range(len(LEVELS))):
        for block in range(3):
            skip, joined = skips.pop()
            x = graph.task(f"up{level}.{block}.join", 0, (width + joined) * (side >> level) ** 2, x, skip)
            x = net.block(f"up{level}.{block}", x, side >> level, width + joined, LEVELS[level], level < 3)
            width = LEVELS[level]
        if level > 0:
            x = graph.convolution(f"up{level}.double", side >> (level - 1), width, width, x)
    graph.convolution("conv_out", side, width, 4, x)
    return graph.mapping(
        name="stable_diffusion_u_net",
        description="U-Net with the layer sizes of Stable Diffusion 1.5, one denoising step",
    )


@dataclass
class _UNet:
    """The graph with the names of its time step and its text."""

    graph: network_layers.TaskGraphBuilder
    time: str = field(default="")
    text: str = field(default="")

    def block(self, name: str, x: str, side: int, channels: int, out: int, attends: bool) -> str:
        """Return a residual block with the time step added, and a transformer where it ``attends``."""
        pixels = side * side
        first = self.graph.convolution(f"{name}.conv1", side, channels, out, x)
        time = self.graph.linear(f"{name}.time", 1, TIME_WIDTH, out, self.time)
        second = self.graph.convolution(f"{name}.conv2", side, out, out, first, time)
        skip = x
        if channels != out:
            skip = self.graph.linear(f"{name}.match", pixels, channels, out, x)
        done = self.graph.task(f"{name}.sum", 0, out * pixels, second, skip)
        return self.transformer(name, done, side, out) if attends else done

    def transformer(self, name: str, x: str, side: int, width: int) -> str:
        """Attention to the image itself, to the text, and a gated feed-forward of four times the width."""
        graph, pixels = self.graph, side * side
        y = graph.linear(f"{name}.in", pixels, width, width, x)
        own = [graph.linear(f"{name}.own.{part}", pixels, width, width, y) for part in ("q", "k", "v")]
        seen = graph.task(f"{name}.own.mix", 4 * pixels * pixels * width, pixels * width, *own)
        y = graph.linear(f"{name}.own.out", pixels, width, width, seen, y)
        q = graph.linear(f"{name}.text.q", pixels, width, width, y)
        k = graph.linear(f"{name}.text.k", TEXT_TOKENS, TEXT_WIDTH, width, self.text)
        v = graph.linear(f"{name}.text.v", TEXT_TOKENS, TEXT_WIDTH, width, self.text)
        seen = graph.task(f"{name}.text.mix", 4 * pixels * TEXT_TOKENS * width, pixels * width, q, k, v)
        y = graph.linear(f"{name}.text.out", pixels, width, width, seen, y)
        gate = graph.linear(f"{name}.gate", pixels, width, 4 * width, y)
        up = graph.linear(f"{name}.up", pixels, width, 4 * width, y)
        y = graph.linear(f"{name}.down", pixels, 4 * width, width, gate, up, y)
        return graph.linear(f"{name}.out", pixels, width, width, y, x)


def u_net(levels: int, blocks: int, *, channels: int = 128, side: int = 64) -> network_layers.NodeLink:
    """A diffusion U-Net: ``blocks`` residual blocks a level, each with the time's and the text's input.

    Sources: the image, the time step, the text. Skips join every block of the way down with its
    fellow on the way up.
    """
    g = network_layers.compute_bound()
    time = g.task("time", 2 * channels * channels * 16, 4 * channels)
    text = g.task("text", 0, 77 * 768)
    x = g.task("image", 2 * 9 * 4 * channels * side * side, channels * side * side)
    skips = []
    for level in range(levels):
        c, pixels = channels * 2**level, (side >> level) ** 2
        for b in range(blocks):
            x = _block(g, f"down{level}.{b}", x, time, text, c, pixels)
            skips.append(x)
        x = g.task(f"down{level}.pool", 2 * 9 * c * 2 * c * pixels / 4, 2 * c * pixels / 4, x)
    for level in reversed(range(levels)):
        c, pixels = channels * 2**level, (side >> level) ** 2
        x = g.task(f"up{level}.grow", 2 * 9 * 2 * c * c * pixels, c * pixels, x)
        for b in range(blocks):
            joined = g.task(f"up{level}.{b}.join", 0, 2 * c * pixels, x, skips.pop())
            x = _block(g, f"up{level}.{b}", joined, time, text, c, pixels)
    g.task("noise", 2 * 9 * channels * 4 * side * side, 4 * side * side, x)
    return g.mapping()


def _block(
    g: network_layers.TaskGraphBuilder, name: str, x: str, time: str, text: str, c: int, pixels: int
) -> str:
    a = g.task(f"{name}.conv1", 2 * 9 * c * c * pixels, c * pixels, x)
    t = g.task(f"{name}.time", 2 * 4 * c * c, c, time)
    b = g.task(f"{name}.conv2", 2 * 9 * c * c * pixels, c * pixels, a, t)
    skip = g.task(f"{name}.match", 2 * c * c * pixels, c * pixels, x)
    r = g.task(f"{name}.sum", 0, c * pixels, b, skip)
    q = g.task(f"{name}.q", 2 * c * c * pixels, c * pixels, r)
    k = g.task(f"{name}.k", 2 * 77 * 768 * c, 77 * c, text)
    v = g.task(f"{name}.v", 2 * 77 * 768 * c, 77 * c, text)
    s = g.task(f"{name}.scores", 2 * 77 * c * pixels, 77 * pixels, q, k)
    return g.task(f"{name}.mix", 2 * 77 * c * pixels + 2 * c * c * pixels, c * pixels, s, v, r)


LATENT, PIXELS = 4 * 64 * 64, 3 * 512 * 512
TEXT = 77 * 768
TEXT_FLOP, STEP_FLOP, DECODE_FLOP = 1.3e10, 8e11, 2.5e12  # CLIP's text encoder; a U-Net; a VAE's decoder
TEXT_WEIGHTS, STEP_WEIGHTS, DECODE_WEIGHTS = 1.23e8, 8.6e8, 5e7


def _diffusion_loop(steps: int) -> network_layers.NodeLink:
    """Return ``steps`` of denoising, each a conditional and an unconditional pass beside one another.

    Every step reads both encoded texts, so that no task but the first separates the graph.

    >>> len(_diffusion_loop(4)["nodes"])
    17
    """
    graph = network_layers.TaskGraphBuilder()
    prompt = graph.task("prompt", 0, 77)
    texts = [
        graph.task(f"{kind}.text", TEXT_FLOP, TEXT, prompt, weights=TEXT_WEIGHTS)
        for kind in ("with", "without")
    ]
    x = graph.task("noise", 0, LATENT, prompt)
    for step in range(steps):
        guesses = [
            graph.task(f"{kind}.step{step}", STEP_FLOP, LATENT, x, text, weights=STEP_WEIGHTS)
            for kind, text in zip(("with", "without"), texts, strict=True)
        ]
        x = graph.task(f"guide{step}", 0, LATENT, x, *guesses)
    graph.task("decode", DECODE_FLOP, PIXELS, x, weights=DECODE_WEIGHTS)
    return graph.mapping(
        name=f"diffusion_{steps}",
        description=f"Text to image in {steps} guided steps, with encoder and decoder",
    )


def encoder_decoder(
    layers: int, *, width: int = 1024, tokens: int = 512, experts: int = 0, cached: bool = True
) -> network_layers.NodeLink:
    """Return an encoder–decoder transformer of ``layers`` + ``layers`` layers, two sources and many sinks.

    With ``cached`` every decoder layer reads a cache of keys and values (sources of the graph) and
    hands out the longer one (sinks); ``experts`` > 0 makes the feed-forward a mixture of so many.
    """
    g, n, d = network_layers.compute_bound(), tokens, width
    x = g.task("embed", 0, n * d)
    for i in range(layers):
        x = _attention(g, f"enc{i}", x, x, n, d, None)
        x = _feed_forward(g, f"enc{i}", x, n, d, experts)
    y = g.task("embed_out", 0, n * d)
    for i in range(layers):
        y = _attention(g, f"dec{i}", y, y, n, d, g.task(f"cache{i}", 0, 2 * n * d) if cached else None)
        y = _attention(g, f"cross{i}", y, x, n, d, None)
        y = _feed_forward(g, f"dec{i}", y, n, d, experts)
    g.task("head", 2 * n * d * 8 * d, n * 8, y)
    return g.mapping()


def _attention(
    g: network_layers.TaskGraphBuilder, name: str, x: str, memory: str, n: int, d: int, cache: str | None
) -> str:
    norm = g.task(f"{name}.norm", 0, n * d, x)
    seen = norm if memory == x else memory
    q = g.task(f"{name}.q", 2 * n * d * d, n * d, norm)
    k = g.task(f"{name}.k", 2 * n * d * d, n * d, seen)
    v = g.task(f"{name}.v", 2 * n * d * d, n * d, seen)
    if cache:
        k = g.task(f"{name}.keys", 0, n * d, k, cache)
        v = g.task(f"{name}.values", 0, n * d, v, cache)
        g.task(f"{name}.present", 0, 2 * n * d, k, v)
    s = g.task(f"{name}.scores", 2 * n * n * d, n * n, q, k)
    o = g.task(f"{name}.mix", 2 * n * n * d, n * d, s, v)
    return g.task(f"{name}.add", 2 * n * d * d, n * d, o, x)


def _feed_forward(g: network_layers.TaskGraphBuilder, name: str, x: str, n: int, d: int, experts: int) -> str:
    norm = g.task(f"{name}.norm2", 0, n * d, x)
    parts = []
    for e in range(max(experts, 1)):
        gate = g.task(f"{name}.gate{e}", 2 * n * d * 4 * d, 4 * n * d, norm)
        up = g.task(f"{name}.up{e}", 2 * n * d * 4 * d, 4 * n * d, norm)
        parts.append(g.task(f"{name}.down{e}", 2 * n * d * 4 * d, n * d, gate, up))
    return g.task(f"{name}.out", 0, n * d, x, *parts)


LAYERS, WIDTH, FRAMES, BANDS, VOCABULARY = 12, 768, 1500, 80, 51_865


def _whisper_small(tokens: int = 8) -> network_layers.NodeLink:
    """Return a pass over 30 s of audio and the first ``tokens`` of the text.

    >>> total_ms = sum(node["compute_ms"] for node in _whisper_small()["nodes"])
    >>> 31 < total_ms < 35
    True
    """
    graph = network_layers.TaskGraphBuilder(flops=network_layers.SINGLE_FLOPS)
    audio = graph.task("audio", 0, 2 * FRAMES * BANDS)
    x = graph.linear("conv1", 2 * FRAMES, 3 * BANDS, WIDTH, audio)
    x = graph.linear("conv2", FRAMES, 3 * WIDTH, WIDTH, x)
    heard = network_layers.encoder(graph, "hear", x, LAYERS, FRAMES, WIDTH)
    y = graph.task("text", 0, tokens * WIDTH)
    for layer in range(LAYERS):
        y = network_layers.attention(graph, f"say{layer}.attend", y, tokens, WIDTH)
        y = network_layers.attention(graph, f"say{layer}.listen", y, tokens, WIDTH, heard, FRAMES)
        y = network_layers.feed_forward(graph, f"say{layer}.feed", y, tokens, WIDTH)
    graph.linear("head", tokens, WIDTH, VOCABULARY, y)
    return graph.mapping(
        name="whisper_small", description="Speech encoder–decoder with the layer sizes of Whisper small"
    )


TOWERS = {"vision": (577, 1024, 6), "audio": (750, 768, 6), "text": (256, 768, 4)}  # tokens, width, layers
FUSED, KEPT, MULTIMODAL_WIDTH = 4, 96, 1024  # layers; tokens that each tower hands over; width


def _multimodal(batch: int = 4) -> network_layers.NodeLink:
    """Three towers side by side for a ``batch`` of clips, each pooled to 96 tokens, and four layers on all.

    >>> {node["id"].rstrip("0123456789.") for node in _multimodal()["nodes"]} >= {"clip", "fuse", "answer"}
    True
    """
    graph = network_layers.TaskGraphBuilder()
    clip = graph.task("clip", 0, batch * 3 * 336 * 336)
    pooled = []
    for name, (tokens, width, layers) in TOWERS.items():
        x = graph.linear(f"{name}.embed", batch * tokens, width, width, clip)
        x = network_layers.encoder(graph, f"{name}.", x, layers, batch * tokens, width)
        pooled.append(graph.linear(f"{name}.pool", batch * KEPT, width, MULTIMODAL_WIDTH, x))
    tokens = batch * KEPT * len(pooled)
    x = graph.task("fuse", 0, tokens * MULTIMODAL_WIDTH, *pooled)
    x = network_layers.encoder(graph, "fused", x, FUSED, tokens, MULTIMODAL_WIDTH)
    graph.linear("answer", batch, MULTIMODAL_WIDTH, 32_000, x)
    return graph.mapping(
        name="multimodal", description="Vision, audio and text towers with a joint transformer"
    )


MIXTURE_WIDTH, HIDDEN, SHARE = 4096, 8 * 14_336, 0.25


def mixture_of_experts(experts: int, layers: int = 1, tokens: int = 512) -> network_layers.NodeLink:
    """``layers`` of attention, router and ``experts``, each token visiting a quarter of them.

    An expert gathers its share of the tokens, multiplies them with three matrices (gate, up, down), and
    all meet in a weighted sum. All experts together have the same weights and work for any number.

    >>> [len(mixture_of_experts(e)["nodes"]) for e in (8, 16)]
    [44, 76]
    """
    graph = network_layers.TaskGraphBuilder()
    x = graph.task("embed", 0, tokens * MIXTURE_WIDTH)
    hidden, routed = HIDDEN / experts, SHARE * tokens
    for layer in range(layers):
        x = network_layers.attention(graph, f"attend{layer}", x, tokens, MIXTURE_WIDTH)
        norm = graph.task(f"norm{layer}", 0, tokens * MIXTURE_WIDTH, x)
        route = graph.linear(f"route{layer}", tokens, MIXTURE_WIDTH, experts, norm)
        outputs = []
        for e in range(experts):
            name = f"expert{layer}.{e}"
            taken = graph.task(f"{name}.gather", 0, routed * MIXTURE_WIDTH, norm, route)
            gate = graph.linear(f"{name}.gate", routed, MIXTURE_WIDTH, hidden, taken)
            up = graph.linear(f"{name}.up", routed, MIXTURE_WIDTH, hidden, taken)
            outputs.append(graph.linear(f"{name}.down", routed, hidden, MIXTURE_WIDTH, gate, up))
        x = graph.task(f"sum{layer}", 0, tokens * MIXTURE_WIDTH, x, route, *outputs)
    graph.linear("head", 1, MIXTURE_WIDTH, 32_000, x)
    return graph.mapping(
        name=f"mixture_{experts}", description=f"{layers} transformer block(s) with {experts} experts each"
    )


VECTOR, PASSAGE = 1024, 256  # entries of an embedding, tokens of a passage
SHARD = 2_000_000  # vectors, searched one by one
RETRIEVAL_KEPT, FAN_IN = 16, 4
EMBEDDER, RERANKER, GENERATOR = 110e6, 110e6, 1.3e9  # parameters; a token takes 2 FLOP for each
ANSWER = 12  # tokens, each of which reads all weights


def _retrieval_tree(shards: int) -> network_layers.NodeLink:
    """A question, ``shards`` searched, 16 passages of each scored, merged by fours, an answer and a check.

    >>> [len(_retrieval_tree(n)["nodes"]) for n in (8, 32)]
    [34, 114]
    """
    graph = network_layers.TaskGraphBuilder()
    question = graph.task("question", 0, 64)
    vector = graph.task("embed", 2 * EMBEDDER * 64, VECTOR, question, weights=EMBEDDER)
    scored = []
    for s in range(shards):
        hits = graph.task(
            f"search{s}", 2 * SHARD * VECTOR, 4 * RETRIEVAL_KEPT, vector, weights=SHARD * VECTOR
        )
        text = graph.task(f"fetch{s}", 0, 4 * RETRIEVAL_KEPT * PASSAGE * 2, hits)
        score = 2 * RERANKER * RETRIEVAL_KEPT * PASSAGE
        scored.append(
            graph.task(f"score{s}", score, RETRIEVAL_KEPT * PASSAGE * 2, text, question, weights=RERANKER)
        )
    level = 0
    while len(scored) > 1:
        groups = [scored[i : i + FAN_IN] for i in range(0, len(scored), FAN_IN)]
        scored = [_merged(graph, f"merge{level}.{i}", group) for i, group in enumerate(groups)]
        level += 1
    prompt = graph.task("prompt", 0, RETRIEVAL_KEPT * PASSAGE * 2, question, *scored)
    read = 2 * GENERATOR * RETRIEVAL_KEPT * PASSAGE
    state = graph.task("read", read, 24 * 2 * 2048 * RETRIEVAL_KEPT * PASSAGE, prompt, weights=GENERATOR)
    answer = graph.task("answer", 0, ANSWER, state, weights=ANSWER * GENERATOR)
    sources = graph.task(
        "check", 2 * EMBEDDER * RETRIEVAL_KEPT * PASSAGE, RETRIEVAL_KEPT, prompt, weights=EMBEDDER
    )
    graph.task("cite", 0, 512, answer, sources)
    return graph.mapping(
        name=f"retrieval_{shards}", description=f"{shards} shards searched and reranked, then generation"
    )


def _merged(graph: network_layers.TaskGraphBuilder, name: str, group: list[str]) -> str:
    work = RERANKER * RETRIEVAL_KEPT * PASSAGE / 2  # a quarter of the passages is scored again, side by side
    return graph.task(name, work, RETRIEVAL_KEPT * PASSAGE * 2, *group, weights=RERANKER)


BATCH, SIDES = 16, (224, 299, 384, 448)
GFLOP = (1.4, 3.6, 8.2, 15.5, 31.0, 55.0, 120.0, 210.0)  # of one image: ResNet-18 to large transformers
EFFICIENCY = 0.5  # of the rate of large products: small images fill a GPU badly
FEATURES, CLASSES = 2048, 1000


def _wide_ensemble(members: int) -> network_layers.NodeLink:
    """``members`` classifiers of a batch of 16 images, and a vote.

    Members of one image size share its scaling; every second member has two branches, for the image and for
    its edges, that meet in its last layer.

    >>> len(_wide_ensemble(8)["nodes"])
    22
    """
    graph = network_layers.TaskGraphBuilder()
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


RECOMMENDER_BATCH, LOOKUPS, RECOMMENDER_WIDTH = 4096, 64, 128
RECOMMENDER_LAYERS = (4096, 2048, 512)


def two_tower(tables: int) -> network_layers.NodeLink:
    """``tables`` tables, half of each tower, for a batch of 4096 pairs.

    A lookup sums 64 rows of 128 entries for each of the batch: it reads memory and computes next to
    nothing. Where the batch meets is the first matrix of a tower.

    >>> len(two_tower(16)["nodes"])
    26
    """
    graph = network_layers.TaskGraphBuilder()
    ids = graph.task("request", 0, RECOMMENDER_BATCH * LOOKUPS * 2)
    towers = []
    for side in ("user", "item"):
        own = graph.task(f"{side}.ids", 0, RECOMMENDER_BATCH * LOOKUPS * 2, ids)
        pooled = [
            graph.task(
                f"{side}.table{t}",
                0,
                RECOMMENDER_BATCH * RECOMMENDER_WIDTH,
                own,
                weights=RECOMMENDER_BATCH * LOOKUPS * RECOMMENDER_WIDTH,
            )
            for t in range(tables // 2)
        ]
        x, width = pooled, len(pooled) * RECOMMENDER_WIDTH
        for layer, out in enumerate(RECOMMENDER_LAYERS):
            x = [graph.linear(f"{side}.layer{layer}", RECOMMENDER_BATCH, width, out, *x)]
            width = out
        towers += x
    graph.task("score", 2 * RECOMMENDER_BATCH * RECOMMENDER_LAYERS[-1], RECOMMENDER_BATCH, *towers)
    return graph.mapping(name=f"two_tower_{tables}", description=f"Two towers on {tables} embedding tables")


@dataclass(frozen=True, slots=True)
class GeneratedNetwork:
    """A generated network: ``build`` returns node-link data for the key ``models`` of a scenario.

    ``interior`` counts the tasks of its largest sub-graph's interior after contraction.
    """

    name: str
    family: str
    interior: int
    description: str
    build: Callable[[], network_layers.NodeLink]


def _experts(experts: int, layers: int, interior: int) -> GeneratedNetwork:
    what = f"{layers} transformer block{'s' if layers > 1 else ''} with {experts} experts of one total size"
    build = partial(mixture_of_experts, experts, layers)
    return GeneratedNetwork(f"mixture_{experts}", "mixture of experts", interior, what, build)


def _ensemble(members: int, interior: int) -> GeneratedNetwork:
    what = f"{members} different classifiers of 16 images in parallel, and a vote"
    return GeneratedNetwork(
        f"ensemble_{members}", "ensemble", interior, what, partial(_wide_ensemble, members)
    )


def _retrieval(shards: int, interior: int) -> GeneratedNetwork:
    what = f"{shards} shards searched in parallel, reranked in a tree, then generation"
    return GeneratedNetwork(
        f"retrieval_{shards}", "retrieval", interior, what, partial(_retrieval_tree, shards)
    )


def _two_tower(tables: int, interior: int) -> GeneratedNetwork:
    what = f"two towers on {tables} embedding tables, a batch of 4096"
    return GeneratedNetwork(f"two_tower_{tables}", "recommender", interior, what, partial(two_tower, tables))


def _diffusion(steps: int, interior: int) -> GeneratedNetwork:
    what = f"text to image: encoders, {steps} steps of two passes each, decoder"
    build = partial(_diffusion_loop, steps)
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
        _whisper_small,
    ),
    GeneratedNetwork(
        "u_net_128", "U-Net", 110, "3 levels of 2 blocks, 128 channels, 64 × 64", partial(u_net, 3, 2)
    ),
    GeneratedNetwork(
        "stable_diffusion_u_net",
        "U-Net",
        248,
        "the layer sizes of Stable Diffusion 1.5, one denoising step",
        _stable_diffusion_u_net,
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
        _multimodal,
    ),
)

#: Name → generated network.
NETWORKS: Mapping[str, GeneratedNetwork] = MappingProxyType({n.name: n for n in _ALL})
