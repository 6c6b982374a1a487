"""Spans of a build: one for the attempt, and one below it for each step."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.conf import settings

from apps.leases.lease import Lease
from controlplane.clock import SYSTEM, Clock
from controlplane.traces.exporting import Exporter
from controlplane.traces.spans import Span, SpanKind, span_id_of, trace_id_of


def build_trace_id(lease: Lease) -> str:
    return trace_id_of(_attempt(lease))


@contextmanager
def attempt_span(lease: Lease, *, clock: Clock = SYSTEM) -> Iterator[None]:
    with _span(lease, "build", None, {}, clock):
        yield


@contextmanager
def step_span(lease: Lease, step: str, *, clock: Clock = SYSTEM) -> Iterator[None]:
    parent = span_id_of(_attempt(lease))
    with _span(lease, step, parent, {"enginehouse.step": step}, clock):
        yield


@contextmanager
def _span(
    lease: Lease, name: str, parent_id: str | None, more: dict[str, str], clock: Clock
) -> Iterator[None]:
    spans, began_at, error = _spans(), clock.time(), ""
    try:
        yield
    except BaseException as broke:
        error = type(broke).__name__
        raise
    finally:
        if spans is not None:
            own = _attempt(lease) if parent_id is None else f"{_attempt(lease)}.{name}"
            spans.add(
                Span(
                    name=name, trace_id=build_trace_id(lease), span_id=span_id_of(own),
                    parent_id=parent_id, kind=SpanKind.INTERNAL, began_at=began_at,
                    ended_at=clock.time(), error=error,
                    attributes={"enginehouse.build_id": lease.id, **more},
                )
            )  # fmt: skip


def _attempt(lease: Lease) -> str:
    return f"build:{lease.id}.{lease.token}"


def _spans() -> Exporter | None:
    return None if settings.TRACES_URL is None else _exporter(settings.TRACES_URL, os.getpid())


@cache
def _exporter(url: str, _pid: int) -> Exporter:
    # By process: a thread does not come along into a child that Celery forks.
    return Exporter(url, "enginehouse-build", settings.NODE_NAME)
