"""Everything that helps to find out why a build failed, in one zip, and nothing that is secret.

Logs were redacted when they were written, with the values that the build had; here every value of
the team goes, and a second time whatever looks like a secret. Environment variables are not read
at all.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, StreamingHttpResponse

from apps.builds.models import Build, BuildStep
from apps.builds.services.progress import step_log_owner
from apps.fleet.selectors import node_list
from apps.rest.streaming import download_answer
from apps.secrets.services.redaction import secret_redactor
from apps.telemetry.logs import log_lines
from controlplane.domain.redaction import Redactor

LARGEST_LOG_CHARACTERS = 512 * 1024
_LOG_LINES = 5_000
_LAST_ATTEMPTS = 3
_LONGEST_LINE = 4_000
_PIECE_BYTES = 64 * 1024
_PACKAGES = ("enginehouse", "django", "celery", "pydantic", "huggingface-hub", "safetensors")
_README = """\
What a build of Enginehouse left, for whoever is to find out why it failed.

build.json     the build, its steps with times and results, its failure
config.yaml    the config as it was saved
checks.json    what the checks and the memory plan said of it
logs/          the end of each step's log, one file per step for the last three attempts
versions.json  the control plane's packages
machines.json  the nodes and GPUs of the installation

Values of secrets and environment variables are not in here. Names of secrets, repositories,
machines and people are: read it before you pass it on.
"""


def support_bundle_answer(request: HttpRequest, build: Build) -> StreamingHttpResponse:
    """Return the bundle as a download. It is made before: whatever can fail has an answer.

    It is some megabytes at most, since the ends of logs are all that grows.
    """
    made = b"".join(bundle_chunks(build))
    return download_answer(
        request,
        _pieces(made),
        content_type="application/zip",
        file_name=f"enginehouse-build-{build.number}-{build.id}.zip",
        size_bytes=len(made),
    )


def _pieces(made: bytes) -> Iterator[bytes]:
    for start in range(0, len(made), _PIECE_BYTES):
        yield made[start : start + _PIECE_BYTES]


def bundle_chunks(build: Build) -> Iterator[bytes]:
    """Return the zip piece by piece; no more than one log is held in memory."""
    sink, redactor = _Sink(), secret_redactor(team=build.team)
    with zipfile.ZipFile(sink, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, text in _files(build, redactor):
            archive.writestr(name, redactor.text(text))
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    def __init__(self) -> None:
        super().__init__()
        self._waiting = bytearray()

    def write(self, data: Any) -> int:
        self._waiting += data
        return len(data)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken = bytes(self._waiting)
        self._waiting.clear()
        return taken


def _files(build: Build, redactor: Redactor) -> Iterator[tuple[str, str]]:
    steps = list(build.steps.all())
    yield "README.txt", _README
    yield "build.json", _json(_build_words(build, steps), redactor)
    yield "config.yaml", build.revision.text
    yield "checks.json", _json(_check_words(build), redactor)
    yield "versions.json", _json({name: _version(name) for name in _PACKAGES}, redactor)
    yield "machines.json", _json(_machine_words(), redactor)
    for step in steps:
        for attempt in range(max(1, build.attempt - _LAST_ATTEMPTS + 1), build.attempt + 1):
            if text := _log_end(build, step.name, attempt):
                yield f"logs/{attempt}-{step.position}-{step.name}.log", text


def _build_words(build: Build, steps: list[BuildStep]) -> dict[str, Any]:
    lines = (
        "id",
        "number",
        "state",
        "attempt",
        "pool",
        "runtime",
        "failure",
        "promotion",
        "fixed",
        "forecast",
        "reuse",
    )
    times = ("created_at", "started_at", "finished_at", "cancel_requested_at")
    of_step = ("name", "state", "started_at", "finished_at", "progress_done", "progress_total")
    return {
        **{name: getattr(build, name) for name in (*lines, *times)},
        "config": build.revision.config.name,
        "revision": build.revision.number,
        "after_build": build.after_id,
        "steps": [
            {
                name: getattr(step, name)
                for name in (*of_step, "progress_unit", "measured", "result")
            }
            for step in steps
        ],
    }


def _check_words(build: Build) -> dict[str, Any]:
    revision = build.revision
    return {
        name: getattr(revision, name)
        for name in ("findings", "waiting", "effective", "plan", "blocks_build")
    }


def _machine_words() -> list[dict[str, Any]]:
    return [
        {
            "name": node.name,
            "pool": node.pool,
            "agent_version": node.agent_version,
            "memory_bytes": node.host_memory_bytes,
            "last_heartbeat_at": node.last_heartbeat_at,
            "devices": [
                {"kind": device.kind, "name": device.name, "memory_bytes": device.memory_bytes}
                for device in node.devices.all()
            ],
        }
        for node in node_list()
    ]


def _log_end(build: Build, step: str, attempt: int) -> str:
    lines = log_lines(
        owners=[step_log_owner(build_id=build.id, step=step)],
        attempt=attempt,
        newest_first=True,
        limit=_LOG_LINES,
    )
    text = "\n".join(line.message[:_LONGEST_LINE] for line in reversed(lines))
    if len(text) <= LARGEST_LOG_CHARACTERS:
        return text
    return "[earlier lines are left out]\n" + text[-LARGEST_LOG_CHARACTERS:].partition("\n")[2]


def _json(value: Any, redactor: Redactor) -> str:
    return json.dumps(redactor.data(value), indent=1, cls=DjangoJSONEncoder, ensure_ascii=False)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
