"""What users claim: the true rate times a factor of the job and a factor of the user."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.training.model.job import Job


def user_of(job: Job) -> str:
    """Whose claims are wrong alike: the job's entity; without one, the job's own.

    >>> user_of(Job("a", "A3C", 1, entity="vision")), user_of(Job("a", "A3C", 1))
    ('entity vision', 'job a')
    """
    return f"entity {job.entity}" if job.entity else f"job {job.name}"


@dataclass(frozen=True, slots=True)
class Claims:
    """Claimed rates T · e^(s z + b z').

    ``error`` e^s and ``bias`` e^b: factors at one standard deviation; z is of the job and type of GPU, z'
    of the user. Draws depend on names only, not on the order of questions.

    >>> Claims(1.0, 1.0, RandomStreams(1)).factor(Job("a", "A3C", 1), "v100")
    1.0
    """

    error: float
    bias: float
    streams: RandomStreams

    def __post_init__(self) -> None:
        for key, value in (("error", self.error), ("bias", self.bias)):
            if not (math.isfinite(value) and value >= 1):
                raise SimulationError(f"Estimates: {key}={value!r} is a factor of at least 1; raise it.")

    def factor(self, job: Job, gpu: str) -> float:
        """Claimed over true rate of a job on a type of GPU."""
        own = self.streams.generator("claim", job.name, gpu).standard_normal()
        shared = self.streams.generator("claims of", user_of(job)).standard_normal()
        return math.exp(math.log(self.error) * own + math.log(self.bias) * shared)
