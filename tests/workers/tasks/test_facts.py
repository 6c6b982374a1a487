"""A real control worker reads the facts of a checkpoint that a check asked for."""

from pathlib import Path

import pytest

from apps.configs.leasing import FACTS
from apps.configs.models import CheckpointRecord, FactsState
from apps.configs.services.examination import examine_text
from apps.leases.sweeping import leases_sweep
from controlplane.celery import CONTROL_QUEUE
from tests.factories import config_text, make_device, make_team
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("broker"),
    pytest.mark.process,
]


def test_a_check_gets_its_facts_from_the_control_worker(data_dir: Path) -> None:
    make_device()
    team = make_team()
    folder = make_tiny_checkpoint(data_dir / "checkpoints" / "tiny-for-worker")
    assert examine_text(team=team, text=config_text(str(folder))).blocks_build
    record = CheckpointRecord.objects.get(team=team)

    def state() -> str:
        record.refresh_from_db()
        return record.state

    with Gates() as gates, CeleryWorker(CONTROL_QUEUE, gates=gates) as worker:
        wait_for(lambda: state() != FactsState.WAITING, what=worker.log.read_text)
        log = worker.log.read_text()
    assert record.state == FactsState.READY, log
    assert not examine_text(team=team, text=config_text(str(folder))).blocks_build
    assert leases_sweep(FACTS).sent == 0
