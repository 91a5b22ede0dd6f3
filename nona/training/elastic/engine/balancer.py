"""The traffic of all jobs on the link, computed again only when it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nona.training.elastic.model.link import Link, Sender, balance
from nona.training.elastic.policies.base import Traffic


@dataclass(slots=True)
class Balancer:
    """Of one run."""

    link: Link
    _senders: tuple[Sender, ...] | None = None
    _link_s: tuple[float, ...] = ()
    _used: tuple[float, ...] = ()

    def spread(self, senders: Mapping[int, Sender]) -> tuple[dict[int, float], Traffic]:
        """Seconds of an all-reduce by job, and the traffic that a policy of view N4 sees."""
        chosen = tuple(senders.values())
        if chosen != self._senders:
            link_s, used = balance(self.link, chosen)
            self._senders, self._link_s, self._used = chosen, tuple(link_s.tolist()), tuple(used.tolist())
        service_s = {n: self.link.service_s(sender.size) for n, sender in senders.items()}
        traffic = Traffic(self.link, dict(zip(senders, self._used, strict=True)), service_s)
        return dict(zip(senders, self._link_s, strict=True)), traffic
