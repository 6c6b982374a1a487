"""Two replicas of one deployment, a GPU each: requests divided, one engine killed under them."""

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.gpu.product import Show, until
from benchmarks.gpu.stages import two_devices
from benchmarks.gpu.stages.serving import metrics_at, served_name
from benchmarks.gpu.stages.traffic import Traffic
from benchmarks.gpu.stages.two_devices import PIPELINE, SINGLE, WEIGHTS, on_each_device
from benchmarks.gpu.stages.watching import Watch, fault

_TWO = {"min_replica": 2, "max_replica": 2}
_BEFORE_SECONDS, _AFTER_SECONDS = 3.0, 3.0


def build(show: Show) -> dict[str, Any]:
    """The same model for one GPU."""
    return two_devices.built(show, SINGLE)


def serve(show: Show) -> dict[str, Any]:
    """Both replicas up; one engine by itself, then both behind the gateway, timed."""
    began = time.monotonic()
    model = _model_of_two(show)
    ready = until(lambda: _ready(show, model), lambda count: count == 2)
    seconds = round(time.monotonic() - began, 1)
    engine = f"{show.engine()['url']}/v1"
    return {
        "weights": WEIGHTS,
        "seconds_to_two_ready": seconds,
        "ready": ready,
        "deployment": show.deployment(model),
        "replicas": show.replicas(model),
        "leased": Watch(show, model).devices(),
        "on_each_device": on_each_device(),
        "asked": two_devices.asked(show.client(model)),
        "rows": [two_devices.rates(engine, {}, count, served_name(engine))
                 for count in two_devices.STREAMS],
        "both": _divided(show, model),
        "log": show.engine_log()[-400:],
    }  # fmt: skip


def kill_one(show: Show) -> dict[str, Any]:
    """One engine killed under traffic; the build over two stages is begun meanwhile."""
    model = show.model(SINGLE)
    watch = Watch(show, model)
    before, engine = on_each_device(), show.engines()[0]
    with Traffic(show, model) as traffic:
        time.sleep(_BEFORE_SECONDS)
        watch.begin()
        traffic.mark("the engine was killed")
        os.kill(engine["pid"], signal.SIGKILL)
        two_devices.start_build(show, PIPELINE)
        watch.during(600, lambda: watch.first_failure() and _ready(show, model) == 2)
        traffic.mark("two replicas were ready")
        time.sleep(_AFTER_SECONDS)
    row = fault(
        "one of two engines killed under traffic (SIGKILL)", watch.first_failure(),
        watch.seconds, "after the kill: two replicas are ready again, a GPU each",
    )  # fmt: skip
    return {
        "faults": [row],
        "requests": traffic.told(),
        "killed": engine["pid"],
        "before": before,
        "after": on_each_device(),
        "said": watch.seen,
        "taken_down": two_devices.down(show, model),
    }


def _model_of_two(show: Show) -> dict[str, Any]:
    """Deploy, and ask for a second replica before the first is up."""
    source = {"kind": "build", "build_id": show.build_of(SINGLE)["id"]}
    model = show.job._post("models", {"name": SINGLE, "source": source})["model"]
    deployments = f"models/{model['id']}/deployments"
    [deployment] = show.job._get(deployments)["deployments"]
    settings = f"{deployments}/{deployment['id']}/autoscaling_settings"
    show.job._json(show.job._client.patch(settings, json=_TWO))
    show.made[f"model {SINGLE}"] = {**model, "deployment": deployment}
    until(lambda: show.deployment(show.model(SINGLE)), lambda now: now["is_production"])
    return show.model(SINGLE)


def _ready(show: Show, model: Mapping[str, Any]) -> int:
    return sum(each["state"] == "ready" for each in show.replicas(model)["replicas"])


def _divided(show: Show, model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rate over both, and how many tokens each engine made of it."""
    engines = show.engines()
    before = [metrics_at(each["url"])["completion_tokens_total"] for each in engines]
    rows = two_devices.through_the_gateway(show, model, (2, 16, 128))
    after = [metrics_at(each["url"])["completion_tokens_total"] for each in engines]
    made = [late - early for early, late in zip(before, after, strict=True)]
    return {"rows": rows, "tokens_made_by_each": made}
