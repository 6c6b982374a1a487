"""A real control worker reads the facts of a checkpoint that a check asked for."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import InterfaceError, OperationalError, connection

from apps.configs.models import CheckpointRecord, FactsState
from apps.configs.services import FactsLease, examine_text, facts_sweep
from controlplane.domain.spec import CheckpointRepository
from tests.factories import config_text, make_card, make_team
from tests.processes import wait_for
from tests.tiny_checkpoint import make_tiny_checkpoint
from workers.tasks import facts

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def control_worker(broker: str, data_dir: Path, transactional_db: None) -> Iterator[None]:
    """A Celery worker on the control queue, in its own process, on the test's database."""
    where = connection.settings_dict
    url = f"postgresql://{where['USER']}@/{where['NAME']}?host={where['HOST']}"
    arguments = ["worker", "-P", "threads", "-c", "1", "-Q", "control", "--without-mingle"]
    with (data_dir / "control-worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "controlplane.celery", *arguments],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": url},
            stdout=log,
            stderr=log,
        )
    yield
    worker.terminate()
    try:
        worker.wait(15)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait(5)


@pytest.mark.usefixtures("control_worker")
def test_a_check_gets_its_facts_from_the_control_worker(data_dir: Path) -> None:
    make_card()
    team = make_team()
    folder = make_tiny_checkpoint(data_dir / "checkpoints" / "tiny-for-worker")
    assert examine_text(team=team, text=config_text(str(folder))).blocks_build
    record = CheckpointRecord.objects.get(team=team)
    deadline = time.monotonic() + 120
    while record.state == FactsState.WAITING and time.monotonic() < deadline:
        time.sleep(0.1)
        record.refresh_from_db()
    log = (data_dir / "control-worker.log").read_text()
    assert record.state == FactsState.READY, log
    assert not examine_text(team=team, text=config_text(str(folder))).blocks_build
    assert facts_sweep() == 0


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_lease_is_renewed_again_after_its_connection_broke(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[FactsLease] = []

    def renew(*, lease: FactsLease) -> bool:
        asked.append(lease)
        if len(asked) == 1:
            raise error("the connection is closed")
        return True

    monkeypatch.setattr(facts, "facts_renew", renew)
    monkeypatch.setattr(facts, "RENEW_SECONDS", 0.01)
    checkpoint = CheckpointRepository.model_validate({"source": "LOCAL", "repo": "/tiny"})
    lease = FactsLease(
        facts_id="f1", token=1, secret="s", checkpoint=checkpoint, needs_secret=False
    )
    with facts._Renewing(lease):
        wait_for(lambda: len(asked) > 1, seconds=60, what="another renewal")
