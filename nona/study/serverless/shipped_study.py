"""The results of the serverless study that ship with the program."""

from __future__ import annotations

from functools import cache

from nona.results.serverless.study import ServerlessStudy
from nona.study.shipped import shipped


@cache
def shipped_study() -> ServerlessStudy:
    """The results, read once.

    >>> shipped_study().command.split()[:3]
    ['nona', 'study', 'serverless']
    """
    return ServerlessStudy.from_json(shipped("serverless"))
