"""The configurations of each model's sub-graphs with their probabilities, and its predicted time."""

from __future__ import annotations

from nona.results.document import Document, Figure


class PlacedConfiguration(Document):
    """A partition of a sub-graph's interior over servers, by names of tasks.

    ``root_part`` is the index of the part on the root's server, −1: none; ``sink_part`` that of the part
    on the sink's server, −1: the sink stays on the root's server, as it does when both are equal.
    """

    parts: tuple[tuple[str, ...], ...]
    root_part: int
    sink_part: int
    probability: float

    @property
    def is_local(self) -> bool:
        """Whether everything stays on the root's server."""
        return len(self.parts) <= (self.root_part == 0) and self.sink_part in (-1, self.root_part)


class SubgraphEnds(Document):
    """Root and sink of a sub-graph; ``None`` at the ends of the model."""

    root: str | None
    sink: str | None

    @property
    def title(self) -> str:
        """From where to where."""
        return f"{self.root or '(start)'} → {self.sink or '(end)'}"


class PlacedSubgraph(SubgraphEnds):
    """The configurations of one sub-graph."""

    configurations: tuple[PlacedConfiguration, ...]

    @property
    def has_interior(self) -> bool:
        """Whether there is anything to place between root and sink."""
        return any(part for c in self.configurations for part in c.parts)

    @property
    def split(self) -> float:
        """Probability that it does not stay on one server."""
        return float(sum(c.probability for c in self.configurations if not c.is_local))


class PlacedModel(Document):
    """One row of the workload: mean JCT by formula, the parts of its longest path, and its sub-graphs."""

    jct_s: Figure
    compute_s: Figure
    transfer_s: Figure
    network_wait_s: Figure
    server_wait_s: Figure
    subgraphs: tuple[PlacedSubgraph, ...]
