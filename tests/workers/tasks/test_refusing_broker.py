"""A broker that is there and refuses every write, as it does while its disk is full."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from controlplane.hints import hint_send
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.recovery,
    pytest.mark.process,
]
_QUEUE = "refused"


def test_a_worker_outlives_it_and_then_takes_work_again(broker: str) -> None:
    with Gates() as gates, CeleryWorker(_QUEUE, gates=gates) as worker:
        worker.wait_until_ready()
        with _refusing(broker):
            for _ in range(2):  # the refusal of what it waits in, and of what it tries again with
                count = worker.log.read_text().count("NOREPLICAS")
                wait_for(
                    lambda count=count: (
                        worker.log.read_text().count("NOREPLICAS") > count or not worker.is_running
                    ),
                    what=lambda: f"a refusal:\n{worker.log.read_text()[-3000:]}",
                )
        assert worker.is_running, worker.log.read_text()[-3000:]
        hint_send("nobody.knows.it", queue=_QUEUE, arguments={})
        wait_for(
            lambda: "nobody.knows.it" in worker.log.read_text(),
            what=lambda: f"a message taken:\n{worker.log.read_text()[-3000:]}",
        )


@contextmanager
def _refusing(broker: str) -> Iterator[None]:
    # In other words than for a disk, and to the same commands.
    with redis.Redis.from_url(broker) as client:
        client.config_set("min-replicas-to-write", 1)
        try:
            yield
        finally:
            client.config_set("min-replicas-to-write", 0)
