"""A gateway process that samples: after a kill all is there, after a revocation nothing is."""

import httpx
import pytest

from tests.waiting import wait_for
from tests.workers.gateway.stage.process_house import ProcessHouse
from tests.workers.gateway.stage.routes import CHAT, routes
from tests.workers.gateway.stage.scripts import answers

ROW = {"id": "consent1", "share": 1.0, "kept_seconds": 600.0}
ASKED = {"messages": [{"role": "user", "content": "say hi"}]}


@pytest.mark.process
@pytest.mark.recovery
def test_samples_outlive_a_kill_and_not_the_consent(
    process_house: ProcessHouse, http: httpx.Client
) -> None:
    engine, plane = process_house.engine(answers), process_house.plane
    consenting = routes(engine.port, version=1)
    consenting["models"]["modelaaa"]["sampling"] = ROW
    process_house.publish_snapshot(consenting)
    gateway = process_house.gateway()
    kept = gateway.data_dir / "gateway" / "samples" / ROW["id"] / "modelaaa"

    def is_kept() -> bool:
        assert http.post(gateway.url + CHAT, json=ASKED).status_code == 200
        return kept.is_dir() and any(kept.glob("*.outline"))

    wait_for(is_kept, what="a sample")
    wait_for(lambda: plane.samples[-1:] not in ([], [[]]), what="the word of it")
    assert plane.samples[-1][0]["model_id"] == "modelaaa"
    gateway.kill()
    plane.samples.clear()
    gateway.start()
    wait_for(lambda: plane.samples[-1:] not in ([], [[]]), what="the word of it after a kill")
    process_house.publish_snapshot(routes(engine.port, version=2))
    wait_for(lambda: plane.samples[-1:] == [[]], what="the word that nothing is left")
    assert not kept.exists()
