"""A build worker tunes lookahead in a child, and lets it go within seconds of a cancel."""

import io
import json
from pathlib import Path

import pytest

from apps.configs.calibration_sets.services.sets import set_upload
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.lookahead_tunings.services import tuning_cancel, tuning_request
from tests.factories import make_device
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.waiting import wait_for
from tests.workers.tasks.building import make_buildable

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.engine,
    pytest.mark.process,
]
POOL = "tunings"
TEXT = "The node holds the lease until the sweep of the control plane takes it away again. " * 4


def answers() -> bytes:
    row = json.dumps({"prompt": f"Repeat: {TEXT}", "completion": TEXT})
    return "".join(f"{row}\n" for _ in range(24)).encode()


def ended(tuning: LookaheadTuning) -> bool:
    tuning.refresh_from_db()
    return not tuning.is_open


def test_one_is_cancelled_while_it_runs_and_the_next_says_what_to_serve_with(
    checkpoint: Path, broker: str, transactional_db: None
) -> None:
    make_device()
    revision = make_buildable(checkpoint, added=f"enginehouse:\n  pool: {POOL}\n")
    team = revision.config.team
    set_upload(team=team, name="answers", file=io.BytesIO(answers()), file_name="a.jsonl")
    with Gates() as gates:
        gates.hold("tune_lookahead")
        first = tuning_request(revision=revision, dataset="team/answers")
        with CeleryWorker(f"build.{POOL}", gates=gates) as worker:
            gates.wait_for_arrival("tune_lookahead")
            tuning_cancel(tuning=first)
            wait_for(lambda: ended(first), what=lambda: worker.log.read_text()[-2000:])
            gates.let_go("tune_lookahead")
            second = tuning_request(revision=revision, dataset="team/answers")
            wait_for(lambda: ended(second), what=lambda: worker.log.read_text()[-2000:])
    assert (first.state, first.result) == ("cancelled", None)
    assert (second.state, second.failure) == ("finished", None)
    assert (second.progress_done, second.progress_unit) == (24, "answers")
    best = max(second.result["settings"], key=lambda each: each["tokens_per_step"])
    assert best["tokens_per_step"] > 3
    assert second.result["answers"] == 24
