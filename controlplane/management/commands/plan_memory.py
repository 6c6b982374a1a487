"""`manage.py plan_memory FILE`: what a config takes of each GPU, and what it holds.

Exits 0 when one full-length request fits, 1 when none does, the config has errors or facts are
missing, 2 when a file cannot be read.
"""

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory import (
    FitRow,
    MemoryPlan,
    UnplannableError,
    every_offer,
    fit,
    plan,
    plan_report,
)
from controlplane.domain.memory.requested_devices import (
    RequestedDevices,
    UnknownKindError,
    read_requested_devices,
)
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.choice import runtime_on
from controlplane.domain.spec import ParseResult, Spec, parse_text
from controlplane.domain.spec.choices import RUNTIME_ON_GPU
from controlplane.management.plan_text import build_forecast, lines_of
from controlplane.management.reading import (
    BLOCKED,
    CLEAN,
    UNREADABLE,
    UnreadableError,
    read_checkpoint,
    read_config_text,
)

_ADVISED_ROWS = 12


class NoPlanError(Exception):
    """There is nothing to plan with; the text says what is missing or wrong."""


class Command(BaseCommand):
    help = (
        "Plan the memory of a config.yaml. Exits 0 when one full-length request fits, 1 when none "
        "does or something is missing, 2 when a file cannot be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the config.yaml, or - for standard input")
        parser.add_argument("--facts", help="a config.json or a checkpoint folder")
        parser.add_argument("--gpu", help="plan for KIND:N instead of the config's accelerator")
        parser.add_argument("--advise", action="store_true", help="rank every kind of GPU too")
        parser.add_argument("--format", choices=("text", "json"), default="text", dest="form")

    def handle(self, *args: Any, file: str, facts: str | None, form: str, **options: Any) -> None:
        try:
            parsed = parse_text(read_config_text(file))
            checkpoint = read_checkpoint(Path(facts)) if facts else None
            devices = read_requested_devices(options["gpu"]) if options["gpu"] else None
        except (UnreadableError, UnknownKindError) as error:
            self.stderr.write(str(error))
            sys.exit(UNREADABLE)
        try:
            planned = _planned(file, parsed, checkpoint, devices)
        except NoPlanError as error:
            self._say_no_plan(str(error), form)
            sys.exit(UNREADABLE if _is_not_yaml(parsed) else BLOCKED)
        self.stdout.write(_shown(planned, form, advise=options["advise"]))
        sys.exit(BLOCKED if planned.verdict == "does_not_fit" else CLEAN)

    def _say_no_plan(self, message: str, form: str) -> None:
        if form == "json":
            self.stdout.write(json.dumps({"error": message}, indent=2, ensure_ascii=False))
        else:
            self.stderr.write(message)


def _planned(
    file: str,
    parsed: ParseResult,
    checkpoint: CheckpointFacts | None,
    requested: RequestedDevices | None,
) -> MemoryPlan:
    if parsed.spec is None:
        raise NoPlanError("\n".join(error.line_in(file) for error in parsed.errors))
    if checkpoint is None:
        raise NoPlanError(
            f"{file}: the plan waits for the checkpoint's files: pass --facts config.json or a "
            "checkpoint folder."
        )
    devices = requested or _of_config(parsed.spec)
    spec = devices.applied_to(parsed.spec)
    try:
        return plan(
            spec,
            checkpoint,
            devices,
            runtime_on(devices.kind, spec).memory,
            tensor_parallel=devices.ranks(spec),
        )
    except UnplannableError as error:
        raise NoPlanError(f"{file}: no plan can be made: {error}.") from None


def _of_config(spec: Spec) -> RequestedDevices:
    if spec.accelerator is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return RequestedDevices(kind=CPU, count=1, memory_bytes=memory, by_config=True)
    return read_requested_devices(
        f"{spec.accelerator.kind}:{spec.accelerator.count}", by_config=True
    )


def _is_not_yaml(parsed: ParseResult) -> bool:
    return any(error.code == "EH001" for error in parsed.errors)


def _shown(planned: MemoryPlan, form: str, *, advise: bool) -> str:
    inputs = planned.inputs
    advice: tuple[FitRow, ...] = ()
    if advise:
        runtime = inputs.runtime if inputs.runtime.divides else RUNTIMES[RUNTIME_ON_GPU].memory
        rows = fit(inputs.checkpoint, every_offer(), spec=inputs.spec, runtime=runtime)
        advice = rows[:_ADVISED_ROWS]
    if form == "json":
        report = {
            **plan_report(planned, advice=advice),
            "forecast": build_forecast(planned).model_dump(mode="json"),
        }
        return json.dumps(report, indent=2, ensure_ascii=False)
    return "\n".join(lines_of(planned, advice))
