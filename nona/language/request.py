"""A request on its way through the engines of the readable loop."""

from __future__ import annotations

import math

from nona.language.records import Requests
from nona.language.system import BLOCK_TOKENS, blocks_of


class Request:
    """``computed`` of ``inputs + made`` tokens lie in ``blocks``; ``step`` of them are of this step.

    Its KV, of ``kv_bytes``, that set out at ``set_out_s``, has yet to join the links of ``path``; those that
    it has joined will have served it at ``through_s``. The last fields are what
    :class:`~nona.language.records.Times` records.
    """

    def __init__(self, number: int, requests: Requests, priority: int) -> None:
        self.number, self.row, self.priority = number, int(requests.row[number]), priority
        self.inputs, self.outputs = int(requests.inputs[number]), int(requests.outputs[number])
        self.prefix = int(requests.prefix[number])
        # full blocks of its prefix; the last token of a prompt is always computed
        self.prefix_blocks = min(int(requests.shared[number]), self.inputs - 1) // BLOCK_TOKENS
        self.taken = -1  # of these, those that lie in the blocks of its prefix; −1: it does not use these
        self.made = self.computed = self.blocks = self.step = 0
        self.seen_s = self.last_s = math.inf
        self.path: list[int] = []
        self.kv_bytes = self.set_out_s = self.through_s = 0.0
        self.arrival_s = self.first_s = self.end_s = math.nan
        self.sent_s = 0.0
        self.rank = self.engine = self.decoder = -1
        self.preemptions = 0

    @property
    def left(self) -> int:
        """Tokens to compute before it makes its next."""
        return self.inputs + self.made - self.computed

    @property
    def decodes(self) -> bool:
        """True where its next token needs that of the last alone."""
        return self.made > 0 and self.left == 1

    @property
    def most_blocks(self) -> int:
        """Blocks that it needs for its last token."""
        return blocks_of(self.inputs + self.outputs - 1)
