"""The Celery application: queues, and the beat that re-sends what a lost message left behind.

A message is a hint and the row is the truth: tasks are acknowledged early, keep no results, and
claim their row before they work.
"""

import os

from celery import Celery
from celery.signals import worker_init
from django.conf import settings

from controlplane.broker_patience import BoundedAmqp, BrokerPause
from controlplane.keepalive import KEEPALIVE
from controlplane.processes.schema import wait_for_schema

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
# Django's checks would import the URLs, pages and forms of every app; `manage.py check` does them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

PAYLOAD_FORMAT = 1
CONTROL_QUEUE = "control"
ASYNC_QUEUE = "async"
"""Of asynchronous requests, which wait for models: for seconds, or for an hour."""


def _every(seconds: float, task: str) -> dict[str, object]:
    # A tick that found no worker in time is worthless: the next one says the same.
    return {
        "task": task,
        "schedule": seconds,
        "kwargs": {"format": PAYLOAD_FORMAT},
        "options": {"queue": CONTROL_QUEUE, "expires": seconds * 3},
    }


app = Celery(
    "enginehouse",
    broker=settings.BROKER_URL,
    amqp=BoundedAmqp,
    loader="controlplane.celery_loader:Loader",
    include=["workers.tasks"],
)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=False,
    task_default_queue=CONTROL_QUEUE,
    task_serializer="json",
    accept_content=["json"],
    worker_disable_prefetch=True,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A broker that refuses, as it does while its disk is full, is waited for like one that is away.
    broker_channel_error_retry=True,
    broker_transport_options={
        # For those who read messages and can wait; who sends one goes by `controlplane/hints.py`.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "socket_connect_timeout": 3,
        "socket_timeout": 10,
        "socket_keepalive": True,
        "socket_keepalive_options": dict(KEEPALIVE),
        "retry_on_timeout": True,
        "health_check_interval": 10,
    },
    # No schedule file: every entry comes round within the hour, and a kill cannot corrupt memory.
    beat_scheduler="celery.beat:Scheduler",
    beat_schedule={
        "sweep-builds": _every(3.0, "builds.sweep"),
        "sweep-deployments": _every(3.0, "deployments.sweep"),
        "autoscale": _every(3.0, "deployments.autoscale"),
        "sweep-facts": _every(3.0, "configs.sweep"),
        "sweep-benchmarks": _every(5.0, "benchmarks.sweep"),
        "sweep-alerts": _every(3.0, "alerts.sweep"),
        "sweep-async-requests": _every(2.0, "async_requests.sweep"),
        "sweep-answer-checks": _every(3.0, "answer_checks.sweep"),
        "sweep-artifacts": _every(3600.0, "artifacts.sweep"),
        "check-artifacts": _every(60.0, "artifacts.check"),
        "sample-telemetry": _every(10.0, "telemetry.sample"),
        "fold-series": _every(10.0, "telemetry.fold"),
        "spend": _every(60.0, "telemetry.spend"),
        "prune-telemetry": _every(3600.0, "telemetry.prune"),
    },
)
app.steps["consumer"].add(BrokerPause)


def build_queue(pool: str) -> str:
    return f"build.{pool}"


def host_queue(node_name: str) -> str:
    return f"host.{node_name}"


@worker_init.connect
def _wait_for_schema(**details: object) -> None:
    # A worker of a newer release waits for its migrations instead of failing over missing columns.
    wait_for_schema(timeout_seconds=120)
