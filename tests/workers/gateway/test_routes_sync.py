"""Routes arrive, are reported, survive on disk, and bad ones change nothing."""

import hashlib
import json
import stat

import pytest
import redis

from tests.waiting import wait_for
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, routes
from tests.workers.gateway.stage.scripts import answers

pytestmark = pytest.mark.process


def test_a_gateway_enrolls_once_and_keeps_its_secrets_to_itself(process_house):
    process_house.publish(engine := process_house.engine(answers))
    gateway = process_house.gateway()
    gateway.stop()
    gateway.start()
    process_house.publish(engine)
    assert process_house.plane.applied == [1, 2], "it is known by what it has kept"

    assert len(process_house.plane.enrolled) == 1
    enrolled = process_house.plane.enrolled[0]
    assert set(enrolled) == {"name", "address", "credential_sha256"}
    for name in ("credential.json", "routes.json"):
        path = gateway.data_dir / "gateway" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    stored = json.loads((gateway.data_dir / "gateway/credential.json").read_text())
    digest = hashlib.sha256(stored.pop("credential").encode()).hexdigest()
    assert (stored, digest) == ({"gateway_id": "gateway1"}, enrolled["credential_sha256"])


def test_every_version_applied_is_reported(process_house):
    engine = process_house.engine(answers)
    process_house.publish(engine)
    process_house.gateway()
    process_house.publish(engine)
    process_house.publish(engine)

    assert process_house.plane.applied == [1, 2, 3]


def test_a_gateway_starts_from_disk_while_the_control_plane_is_away(process_house, http):
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway()
    gateway.stop()
    process_house.plane.go_away()
    gateway.start()

    assert _status(http, gateway) == 200

    process_house.plane.snapshot = routes(process_house.engines[0].port, version=9)
    process_house.plane.come_back()
    _wait_until_applied(process_house, [1, 9])
    assert len(process_house.plane.enrolled) == 1


def test_a_gateway_whose_credential_is_refused_serves_by_the_routes_that_it_has(
    process_house, http, monkeypatch
):
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway()
    monkeypatch.setattr(process_house.plane, "_is_known", lambda _http: False)

    process_house.wait_for_log(gateway, "the control plane refuses this gateway")

    assert _status(http, gateway) == 200


def test_older_routes_of_a_restored_control_plane_are_taken(process_house):
    process_house.publish(engine := process_house.engine(answers))
    process_house.publish(engine)
    process_house.gateway()

    process_house.publish_snapshot(routes(engine.port, version=1))

    assert process_house.plane.applied == [2, 1]


def test_routes_that_cannot_be_read_change_nothing(process_house, http):
    process_house.publish(engine := process_house.engine(answers))
    gateway = process_house.gateway()
    process_house.plane.snapshot = routes(engine.port, version=2) | {"format": 3}

    process_house.wait_for_log(gateway, "upgrade the gateway")

    assert _status(http, gateway) == 200
    assert process_house.plane.applied == [1]


def test_a_disk_that_takes_nothing_keeps_no_revoked_key_alive(process_house, http):
    process_house.publish(engine := process_house.engine(answers))
    gateway = process_house.gateway()
    kept = gateway.data_dir / "gateway" / "routes.json"
    in_the_way = kept.with_name(".routes.json.new")
    in_the_way.mkdir()
    snapshot = routes(engine.port, version=2)
    del snapshot["keys"][digest(KEY)]
    process_house.plane.snapshot = snapshot

    wait_for(lambda: _status(http, gateway) == 401, what="the refusal of a revoked key")
    process_house.wait_for_log(gateway, "the disk takes nothing")
    assert process_house.plane.applied == [1], "a promotion waits for routes that outlive a crash"

    in_the_way.rmdir()
    _wait_until_applied(process_house, [1, 2])
    assert json.loads(kept.read_text())["version"] == 2


def test_keys_that_a_newer_control_plane_adds_are_ignored(process_house, http):
    snapshot = routes(process_house.engine(answers).port)
    snapshot["new"] = snapshot["models"]["modelaaa"]["new"] = {"unknown": True}
    process_house.publish_snapshot(snapshot)

    assert _status(http, process_house.gateway()) == 200


def test_a_nudge_brings_new_routes_without_a_poll(process_house, broker):
    process_house.publish(engine := process_house.engine(answers))
    process_house.gateway("--poll-seconds=3600", broker=broker)
    with redis.Redis.from_url(broker) as valkey:
        wait_for(
            lambda: valkey.pubsub_numsub("routes_version")[0][1] == 1,
            what="the gateway to listen for nudges",
        )
        for version in (2, 3):  # the first may come with the poll that subscribing brings
            process_house.plane.snapshot = routes(engine.port, version=version)
            valkey.publish("routes_version", str(version))
            _wait_until_applied(process_house, [*range(1, version + 1)])


def _wait_until_applied(process_house, versions: list[int]) -> None:
    wait_for(
        lambda: process_house.plane.applied == versions,
        what=lambda: f"versions {versions}; they are {process_house.plane.applied}",
    )


def _status(http, gateway) -> int:
    return http.post(gateway.url + CHAT, json={}).status_code
