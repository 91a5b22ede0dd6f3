"""Serverless workflows: from a scenario to the system that policies and the simulator see."""

from nona.study.serverless.preparation import prepare_serverless

__all__ = ["prepare_serverless"]
