"""Lookahead settings over recorded answers, in a real child: no weight is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.lookahead_tuning.counted import Counted
from controlplane.domain.lookahead_tuning.settings import OFF, DraftManner, LookaheadSetting
from tests.workers.build_steps.supervising import Supervisor, run, spec_of
from tests.workers.build_steps.test_preview import keep
from workers.build_steps.child import OutcomeKind

pytestmark = [pytest.mark.engine, pytest.mark.process]
SETTINGS = (
    OFF,
    LookaheadSetting(manner=DraftManner.BY_MATCH, longest_draft_tokens=16, draft_factor=4),
    LookaheadSetting(manner=DraftManner.FILLED, longest_draft_tokens=31),
    LookaheadSetting(manner=DraftManner.SUFFIX, longest_draft_tokens=15),
)
TEXT = "The node holds the lease until the sweep of the control plane takes it away again. " * 4


def rows(count: int, **columns: Any) -> bytes:
    return b"".join(json.dumps(columns).encode() + b"\n" for _ in range(count))


def tuned(supervisor: Supervisor, tiny: Path, content: bytes) -> Any:
    keep(supervisor, "team/answers", content)
    order = {"settings": [each.to_json() for each in SETTINGS], "device": "cpu"}
    supervisor.options["lookahead"] = order
    config = {"calib_dataset": "team/answers", "calib_max_seq_length": 64}
    spec = spec_of(str(tiny), quantization_type="fp8", quantization_config=config)
    return run(supervisor, "tune_lookahead", spec)


def test_a_copied_text_takes_fewer_steps_by_every_setting(
    supervisor: Supervisor, tiny: Path
) -> None:
    outcome = tuned(supervisor, tiny, rows(3, prompt=f"Repeat: {TEXT}", completion=TEXT))
    assert outcome.kind is OutcomeKind.FINISHED, (outcome, supervisor.log.decode())
    result_read = outcome.values
    assert (result_read["conversations"], result_read["answers"]) == (3, 3)
    off, *others = (Counted.from_json(each) for each in result_read["counted"])
    assert off.steps == off.tokens == result_read["answer_tokens"]
    assert [each.setting for each in (off, *others)] == list(SETTINGS)
    assert all(each.tokens == off.tokens for each in others)
    assert all(each.tokens_per_step > 3 for each in others)
    assert supervisor.progress[-1].unit == "answers"
    assert supervisor.progress[-1].done == 3


def test_rows_that_do_not_tell_question_from_answer_are_refused_by_name(
    supervisor: Supervisor, tiny: Path
) -> None:
    outcome = tuned(supervisor, tiny, rows(3, text=TEXT))
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.failure.code == "EHC-NO-ANSWERS"
    assert "`team/answers`" in outcome.failure.sentence
    assert "text" in outcome.failure.hint
