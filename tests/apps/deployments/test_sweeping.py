"""The sweep goes on past what is broken, and says what it was."""

import logging

import pytest

from apps.deployments.services.sweeping import deployments_sweep
from controlplane.domain.lifecycle import DeploymentState
from tests.factories import make_deployment, make_environment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_a_row_that_cannot_be_read_does_not_hold_up_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, sound = (
        make_deployment(state=DeploymentState.FAILED, failure=failure)
        for failure in (["no object"], {"sentence": "It did not start."})
    )
    environments = [
        make_environment(model=candidate.model, name="staging", candidate=candidate)
        for candidate in (broken, sound)
    ]
    with caplog.at_level(logging.ERROR):
        assert deployments_sweep()
    environments[1].refresh_from_db()
    assert environments[1].promotion["status"] == "FAILED"
    assert f"environment {environments[0].id} was not reconciled" in caplog.text
