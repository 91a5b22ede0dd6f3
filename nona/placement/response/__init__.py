"""The response of a placement: how long its jobs take, as a distribution."""

from nona.placement.response.predict import predict_response
from nona.placement.response.times import Response, ResponseTimes

__all__ = ["Response", "ResponseTimes", "predict_response"]
