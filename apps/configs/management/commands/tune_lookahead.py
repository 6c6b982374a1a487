"""`manage.py tune_lookahead CONFIG --file answers.jsonl`: which lookahead setting pays."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.configs.calibration_sets.services.sets import set_upload
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.lookahead_tunings.selectors import tuning_get
from apps.configs.lookahead_tunings.services import (
    MOST_REQUESTS,
    tuning_apply,
    tuning_cancel,
    tuning_request,
)
from apps.configs.models import Config
from apps.configs.selectors import revision_wanted
from apps.rest.errors import ApiError
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.calibration_sets import PREFIX

_DEFAULT_SET = "lookahead-answers"
_LOOK_SECONDS = 1.0


class Command(AuditedCommand):
    help = (
        "Say recorded answers again under each lookahead setting, on a build worker's CPU, and "
        "say which to serve with. Interrupted, it cancels the tuning."
    )
    clock: Clock = SYSTEM

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("config", help="the config's identifier")
        given = parser.add_mutually_exclusive_group(required=True)
        given.add_argument(
            "--file", type=Path, help="rows with `prompt` and `completion`, or `messages`"
        )
        given.add_argument(
            "--dataset", help="a set that the team uploaded, team/NAME, or traffic/MODEL_ID"
        )
        parser.add_argument("--set", default=_DEFAULT_SET, help="the name that --file is kept by")
        parser.add_argument("--requests", type=int, default=1, help="requests at once")
        parser.add_argument("--apply", action="store_true", help="save it as the next revision")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(
        self, *args: Any, config: str, requests: int, apply: bool, as_json: bool, **options: Any
    ) -> None:
        if not 1 <= requests <= MOST_REQUESTS:
            raise CommandError(f"--requests {requests}: it is from 1 to {MOST_REQUESTS:,}.")
        row = Config.objects.select_related("team").filter(id=config).first()
        if row is None:
            raise CommandError(f"There is no config `{config}`.")
        try:
            tuning = tuning_request(
                revision=revision_wanted(config=row),
                dataset=options["dataset"] or _kept(row, options["file"], options["set"]),
                requests=requests,
            )
            tuning = self._awaited(tuning)
            self._say(tuning, as_json)
            if apply and (tuning.result or {}).get("recommended"):
                made = tuning_apply(tuning=tuning)
                self.stderr.write(f"Revision {made.number} of {row.name} has it.")
        except ApiError as error:
            raise CommandError(f"{error.message} {error.hint or ''}".strip()) from error

    def _awaited(self, tuning: LookaheadTuning) -> LookaheadTuning:
        last_line = ""
        try:
            while tuning.is_open:
                if (line := _progress(tuning)) != last_line:
                    self.stderr.write(last_line := line)
                self.clock.sleep(_LOOK_SECONDS)
                tuning = tuning_get(team=tuning.team, tuning_id=tuning.id)
        except KeyboardInterrupt:
            tuning_cancel(tuning=tuning)
            raise CommandError("Cancelled.") from None
        return tuning

    def _say(self, tuning: LookaheadTuning, as_json: bool) -> None:
        if tuning.result is None:
            failure = tuning.failure or {}
            sentence = f"{failure.get('sentence', 'It was cancelled.')} {failure.get('hint') or ''}"
            raise CommandError(sentence.strip())
        if as_json:
            self.stdout.write(json.dumps(tuning.result, indent=1))
            return
        for each in tuning.result["settings"]:
            self.stdout.write(_line(each))
        recommended = tuning.result["recommended"]
        if recommended is not None:
            self.stdout.write(f"\n{recommended['sentence']}")
        self.stdout.write(tuning.result["basis"] or "How long a step takes is not known here.")


def _kept(config: Config, file: Path, name: str) -> str:
    try:
        with file.open("rb") as opened:
            set_upload(team=config.team, name=name, file=opened, file_name=file.name)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    return f"{PREFIX}{name.removeprefix(PREFIX)}"


def _progress(tuning: LookaheadTuning) -> str:
    if tuning.progress_total is None:
        return f"Tuning {tuning.id} is {tuning.state}."
    return f"{tuning.progress_done} of {tuning.progress_total} {tuning.progress_unit}"


def _line(setting: dict[str, Any]) -> str:
    one = next((each for each in setting["by_batch"] if each["requests"] == 1), None)
    ratio = f", {one['ratio']:.2f} × for one request" if one else ""
    return f"{setting['words']}: {setting['tokens_per_step']:.2f} tokens a step{ratio}"
