"""Builds each network, without trained weights, with example inputs of the shape to export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from tools.libraries import torchvision_models, transformers
from torch import Tensor, nn


@dataclass(frozen=True)
class Built:
    """A network in inference mode, its example inputs, and the names of the inputs.

    ``allocated``: its (random) weights exist. Large ones live on torch's ``meta`` device, where
    tensors have a shape and no content.
    """

    module: nn.Module
    inputs: tuple[Tensor, ...]
    input_names: tuple[str, ...]
    allocated: bool


class _Logits(nn.Module):
    """A transformers model that takes token ids and returns one tensor."""

    def __init__(self, network: nn.Module, output: str) -> None:
        super().__init__()
        self.network, self.output = network, output

    def forward(self, ids: Tensor) -> Tensor:
        answer: Tensor = getattr(self.network(ids, use_cache=False, return_dict=True), self.output)
        return answer


class _Decode(nn.Module):
    """One step of a language model: a token, and keys and values of all that went before."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, *cache: Tensor) -> tuple[Tensor, ...]:
        past = transformers().DynamicCache(list(zip(cache[::2], cache[1::2], strict=True)))
        answer = self.network(ids, past_key_values=past, use_cache=True, return_dict=True)
        layers = answer.past_key_values.layers
        return (answer.logits, *(t for layer in layers for t in (layer.keys, layer.values)))


def vision(name: str, side: int = 224, **options: Any) -> Callable[[], Built]:
    """A network of torchvision for one ``side`` × ``side`` colour image."""

    def build() -> Built:
        module = getattr(torchvision_models(), name)(weights=None, **options).eval()
        return Built(module, (torch.randn(1, 3, side, side),), ("image",), True)

    return build


def _language(network: str, config: Any, tokens: int, output: str, dtype: torch.dtype) -> Built:
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)  # not module.to(dtype): that would also cast the position tables
    try:
        with torch.device("meta"):
            module = getattr(transformers(), network)(config).eval()
            ids = torch.zeros((1, tokens), dtype=torch.int64)
    finally:
        torch.set_default_dtype(usual)
    return Built(_Logits(module, output), (ids,), ("ids",), False)


def bert_base(tokens: int) -> Built:
    """BERT-base, encoder only."""
    return _language("BertModel", transformers().BertConfig(), tokens, "last_hidden_state", torch.float32)


def gpt2(tokens: int) -> Built:
    """GPT-2 small over a whole prompt."""
    return _language("GPT2LMHeadModel", transformers().GPT2Config(), tokens, "logits", torch.float32)


def llama2_7b(tokens: int) -> Built:
    """Llama-2-7B over a whole prompt, half precision."""
    return _language("LlamaForCausalLM", transformers().LlamaConfig(), tokens, "logits", torch.float16)


def gpt2_decode(past: int) -> Built:
    """GPT-2 small, one token after ``past`` others whose keys and values are inputs."""
    config = transformers().GPT2Config()
    shape = (1, config.n_head, past, config.n_embd // config.n_head)
    with torch.device("meta"):
        module = transformers().GPT2LMHeadModel(config).eval()
        ids = torch.zeros((1, 1), dtype=torch.int64)
        cache = tuple(torch.zeros(shape) for _ in range(2 * config.n_layer))
    names = tuple(f"past_{kind}_{layer}" for layer in range(config.n_layer) for kind in ("key", "value"))
    return Built(_Decode(module), (ids, *cache), ("ids", *names), False)


def moe_block(tokens: int) -> Built:
    """The mixture-of-experts block, half precision."""
    from tools.mixture import WIDTH, MixtureBlock

    with torch.device("meta"):
        module = MixtureBlock().to(torch.float16).eval()
        x = torch.zeros((tokens, WIDTH), dtype=torch.float16)
    return Built(module, (x,), ("tokens",), False)
