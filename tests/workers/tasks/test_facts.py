"""A real control worker reads the facts of a checkpoint that a check asked for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.configs.leasing import FACTS
from apps.configs.models import CheckpointRecord, FactsState
from apps.configs.services.examination import examine_text
from apps.leases.sweeping import leases_sweep
from controlplane.celery import CONTROL_QUEUE
from controlplane.domain.facts import checkpoints
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


@pytest.fixture(scope="module")
def worker(broker: str, django_db_setup: None, django_db_blocker: Any) -> Iterator[CeleryWorker]:
    """A control worker that serves all these tests, in a database that is there by then."""
    with (
        django_db_blocker.unblock(),
        Gates() as gates,
        CeleryWorker(CONTROL_QUEUE, gates=gates) as started,
    ):
        yield started.wait_until_ready()


def test_a_check_gets_its_facts_from_the_control_worker(
    data_dir: Path, worker: CeleryWorker
) -> None:
    make_device()
    team = make_team()
    folder = make_tiny_checkpoint(data_dir / "checkpoints" / "tiny-for-worker")
    assert examine_text(team=team, text=config_text(str(folder))).blocks_build
    record = CheckpointRecord.objects.get(team=team)

    def state() -> str:
        record.refresh_from_db()
        return record.state

    wait_for(lambda: state() != FactsState.WAITING, what=worker.log.read_text)
    assert record.state == FactsState.READY, worker.log.read_text()
    assert not examine_text(team=team, text=config_text(str(folder))).blocks_build
    assert leases_sweep(FACTS).sent == 0


def test_a_class_that_the_tables_do_not_count_says_its_parameters_after_the_facts(
    data_dir: Path, worker: CeleryWorker
) -> None:
    make_device()
    team = make_team()
    folder = make_tiny_checkpoint(data_dir / "checkpoints" / "counted-by-its-class")
    config = {
        "architectures": ["xLSTMForCausalLM"], "model_type": "xlstm", "hidden_size": 128,
        "embedding_dim": 128, "num_heads": 2, "num_blocks": 2, "num_hidden_layers": 2,
        "vocab_size": 1000,
    }  # fmt: skip
    assert checkpoints.read(config).counts is None
    (folder / "config.json").write_text(json.dumps(config))
    assert examine_text(team=team, text=config_text(str(folder))).blocks_build
    record = CheckpointRecord.objects.get(team=team)

    def tables() -> int:
        record.refresh_from_db()
        return int(((record.facts or {}).get("counts") or {}).get("tables", 0))

    wait_for(lambda: tables() > 0, what=worker.log.read_text)
    assert record.state == FactsState.READY
    assert tables() == 2 * 1000 * 128
