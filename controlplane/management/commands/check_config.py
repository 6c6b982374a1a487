"""`manage.py check_config FILE`: what the wizard says of a config, on the command line.

Exits 0 when the file is clean or has warnings, 1 when an error blocks it or a rule waits, 2 when it
or the facts cannot be read.
"""

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.domain.facts.calibration_sets import named_sets
from controlplane.domain.rules import Examination, Known, every_kind, examine_with_fixes
from controlplane.domain.spec import Spec, parse_text
from controlplane.management.reading import (
    BLOCKED,
    CLEAN,
    UNREADABLE,
    UnreadableError,
    read_checkpoint,
    read_config_text,
)


class Command(BaseCommand):
    help = (
        "Check a config.yaml. Exits 0 when it is clean or has warnings, 1 when an error blocks it "
        "or a rule waits for facts, 2 when it cannot be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the config.yaml, or - for standard input")
        parser.add_argument("--facts", help="a config.json or a checkpoint folder")
        parser.add_argument("--format", choices=("text", "json"), default="text", dest="form")

    def handle(self, *args: Any, file: str, facts: str | None, form: str, **options: Any) -> None:
        try:
            parsed = parse_text(read_config_text(file))
            known = _known(facts)
        except UnreadableError as error:
            self.stderr.write(str(error))
            sys.exit(UNREADABLE)
        examination = examine_with_fixes(parsed, lambda spec: _all_there(spec, known))
        if form == "json":
            self.stdout.write(json.dumps(examination.to_json(), indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(examination, file)))
        if any(error.code == "EH001" for error in examination.errors):
            sys.exit(UNREADABLE)
        sys.exit(BLOCKED if examination.blocks_build else CLEAN)


def _known(facts: str | None) -> Known:
    """Return the facts to check against: every kind of GPU counts as there."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Known(
        checkpoint=read_checkpoint(Path(facts)) if facts else None,
        devices=every_kind(cpu_memory_bytes=memory),
    )


def _all_there(spec: Spec, known: Known) -> Known:
    return replace(known, secret_names=spec.secret_names, calibration_sets=named_sets(spec))


def _lines(examination: Examination, file: str) -> Iterator[str]:
    for finding in examination.report.findings:
        place = f"{file}:{finding.line}:{finding.column}" if finding.line else file
        yield f"{place}: {finding.severity} {finding.code} {finding.name}: {finding.message}"
        if finding.fix:
            yield f"    fix: {finding.fix.label}: {json.dumps(dict(finding.fix.patch))}"
        elif finding.no_fix:
            yield f"    no fix: {finding.no_fix}"
    yield from _waiting(examination, file)
    for value in examination.effective:
        configured = "unset" if value.asked is None else value.asked
        yield f"{file}: effective {value.field}: {configured} -> {value.effective}. {value.reason}"
    yield _verdict(examination)


def _verdict(examination: Examination) -> str:
    if not examination.blocks_build:
        on = examination.spec.accelerator if examination.spec else None
        return f"It can be built where {on} is there." if on else "It can be built."
    errors = sum(finding.severity == "error" for finding in examination.report.findings)
    waiting = len(examination.report.waiting)
    reasons = [_counted(errors, "error", "errors")] * bool(errors)
    reasons += [_counted(waiting, "rule waits", "rules wait")] * bool(waiting)
    return f"It cannot be built: {', '.join(reasons)}."


def _waiting(examination: Examination, file: str) -> Iterator[str]:
    codes: dict[str, list[str]] = {}
    for waiting in examination.report.waiting:
        codes.setdefault(waiting.message, []).append(waiting.code)
    for message, rules in codes.items():
        yield f"{file}: waiting {' '.join(rules)}: {message}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
