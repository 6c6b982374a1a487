"""`manage.py render_runtime FILE`: the command and files that a runtime is started with."""

import json
import shlex
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.memory import UnplannableError
from controlplane.domain.runtimes import RUNTIMES, Launch, Start
from controlplane.domain.spec import Spec, parse_text
from controlplane.management.reading import UnreadableError, read_checkpoint, read_config_text


class Command(BaseCommand):
    help = "Write the command, environment and files with which a runtime serves a config."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the config.yaml, or - for standard input")
        parser.add_argument("--runtime", choices=tuple(RUNTIMES), help="else the config's own")
        parser.add_argument("--runtime-version", help="else the one rendered for here")
        parser.add_argument("--facts", help="a config.json or a checkpoint folder")
        parser.add_argument("--model-dir", default="/models/artifact")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--engine-python", default="python3")
        parser.add_argument("--memory-gib", type=float, default=80.0)
        parser.add_argument("--output", help="a folder for argv, environment.json and the files")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        try:
            launch = _launch(_spec(file), options)
        except (UnreadableError, UnplannableError, ValueError) as error:
            raise CommandError(str(error)) from None
        if options["output"]:
            _write(launch, Path(options["output"]).absolute())
        self.stdout.write(shlex.join(launch.argv))
        for name, text in launch.files.items():
            self.stdout.write(f"\n# {name}\n{text}")
        for changed in launch.changed:
            self.stdout.write(f"# changed: {changed.field}: {changed.reason}")
        for left in launch.ignored_settings:
            self.stdout.write(f"# without effect: {left.flag}: {left.reason}")


def _spec(file: str) -> Spec:
    parsed = parse_text(read_config_text(file))
    if parsed.spec is None:
        sentences = (f"{error.path}: {error.message}" for error in parsed.errors)
        raise ValueError("\n".join(sentences))
    return parsed.spec


def _launch(spec: Spec, options: dict[str, Any]) -> Launch:
    facts, version = options["facts"], options["runtime_version"]
    start = Start(
        model_dir=options["model_dir"],
        host=options["host"],
        port=options["port"],
        python=options["engine_python"],
        threads=8,
        memory_bytes=round(options["memory_gib"] * GIB),
        version=version,
    )
    checkpoint = read_checkpoint(Path(facts)) if facts else CheckpointFacts()
    return RUNTIMES[options["runtime"] or spec.runtime_name].render(spec, checkpoint, start)


def _write(launch: Launch, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    argv = launch.argv_in(str(folder))
    (folder / "argv").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
    (folder / "environment.json").write_text(json.dumps(dict(launch.environment), indent=1) + "\n")
    for name, text in launch.files.items():
        (folder / name).write_text(text)
    sys.stderr.write(f"Wrote {folder}\n")
