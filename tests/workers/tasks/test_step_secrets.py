"""Which steps of a build are handed its secrets."""

from workers.build_steps.__main__ import STEPS
from workers.tasks.building.secrets import takes_secrets

REMOTE_CODE = {"inspect": {"remote_code": {"runs": True}}}


def test_steps_that_read_from_elsewhere_are_handed_secrets_and_no_others() -> None:
    inspected = {"inspect": {"remote_code": {"runs": False}}}
    assert [step for step in STEPS if takes_secrets(step, {})] == ["fetch", "calibrate", "gate"]
    assert takes_secrets("gate", inspected)


def test_no_step_that_runs_a_checkpoints_remote_code_is_handed_a_secret() -> None:
    assert not any(takes_secrets(step, REMOTE_CODE) for step in STEPS)
