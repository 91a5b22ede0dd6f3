"""The kinds of jobs by name, as the families declare them.

Everything that tells jobs apart reads this one list: the server that starts them, the worker that does
them, the session that says whether a result is stale, the side bar that shows what runs.
"""

from __future__ import annotations

from nona.core.errors import JobError
from nona.core.family import TaskKind, families
from nona.core.registry import Registry

KINDS: Registry[TaskKind] = Registry(
    "Job", (task for family in families() for task in family.tasks), JobError
)
