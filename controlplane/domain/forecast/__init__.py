"""What a build will take, told before it starts: memory, disk, time, its place in the queue."""

from controlplane.domain.forecast.build_forecast import BuildForecast, Forecast, forecast
from controlplane.domain.forecast.estimate import Basis, Estimate
from controlplane.domain.forecast.history import PastStep, steps_of_past
from controlplane.domain.forecast.queueing import Ahead, QueuePlace, queue_place

__all__ = [
    "Ahead",
    "Basis",
    "BuildForecast",
    "Estimate",
    "Forecast",
    "PastStep",
    "QueuePlace",
    "forecast",
    "queue_place",
    "steps_of_past",
]
