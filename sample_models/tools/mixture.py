"""One transformer block with a mixture of experts, with static shapes so that it can be exported.

Attention, norms and feed-forward have the dimensions of Mixtral-8x7B (Jiang et al. 2024,
"Mixtral of Experts"): width 4096, 32 heads, 8 key/value heads, 8 experts of width 14336. Mixtral
routes each token to 2 experts, which depends on the data and does not export; here each expert
chooses its tokens (Zhou et al. 2022, "Mixture-of-Experts with Expert Choice Routing"), so that the
same number of tokens goes through the experts and every shape is known. Rotary position
embedding is left out: it costs next to nothing and changes no dependency between the experts.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, KEY_VALUE_HEADS, EXPERTS, EXPERT_WIDTH, EXPERTS_PER_TOKEN = 4096, 32, 8, 8, 14336, 2


class Attention(nn.Module):
    """Causal self-attention with grouped keys and values, over one sequence of T tokens."""

    def __init__(self) -> None:
        super().__init__()
        head = WIDTH // HEADS
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, KEY_VALUE_HEADS * head, bias=False)
        self.value = nn.Linear(WIDTH, KEY_VALUE_HEADS * head, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(T, width) → (T, width)."""
        tokens, head = x.shape[0], WIDTH // HEADS
        repeat = HEADS // KEY_VALUE_HEADS
        q = self.query(x).view(1, tokens, HEADS, head).transpose(1, 2)
        k = self.key(x).view(1, tokens, KEY_VALUE_HEADS, head).transpose(1, 2)
        v = self.value(x).view(1, tokens, KEY_VALUE_HEADS, head).transpose(1, 2)
        k, v = k.repeat_interleave(repeat, dim=1), v.repeat_interleave(repeat, dim=1)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(tokens, WIDTH))


class Expert(nn.Module):
    """Gated feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERT_WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, EXPERT_WIDTH, bias=False)
        self.down = nn.Linear(EXPERT_WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(tokens, width) → (tokens, width)."""
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class ExpertChoice(nn.Module):
    """Every expert takes the tokens that score highest for it; the results are added up."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x: Tensor) -> Tensor:
        """(T, width) → (T, width); each expert sees T · experts per token / experts tokens."""
        chosen = x.shape[0] * EXPERTS_PER_TOKEN // EXPERTS
        scores = self.router(x).softmax(dim=-1)
        results = []
        for number, expert in enumerate(self.experts):
            weight, tokens = scores[:, number].topk(chosen)
            result = expert(x.index_select(0, tokens)) * weight.unsqueeze(1)
            results.append(torch.zeros_like(x).index_add(0, tokens, result))
        total = results[0]
        for result in results[1:]:
            total = total + result
        return total


class MixtureBlock(nn.Module):
    """Attention and a mixture of experts, each behind a norm and beside a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.attention = Attention()
        self.mixture_norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.mixture = ExpertChoice()

    def forward(self, x: Tensor) -> Tensor:
        """(T, width) → (T, width)."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.mixture(self.mixture_norm(x))
