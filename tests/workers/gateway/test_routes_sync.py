"""Routes arrive, are reported, survive on disk, and bad ones change nothing."""

import json
import stat
import time
from itertools import count

import redis

from tests.timing import quickest
from tests.workers.gateway.stage.control_plane import CREDENTIAL
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, routes
from tests.workers.gateway.stage.scripts import answers
from tests.workers.gateway.stage.waiting import until


def test_a_gateway_enrolls_once_and_keeps_its_secrets_to_itself(house):
    house.publish(house.engine(answers))
    gateway = house.gateway()
    gateway.stop()
    gateway.start()
    until(lambda: house.plane.applied.count(1) >= 2)

    assert len(house.plane.enrolled) == 1
    assert set(house.plane.enrolled[0]) == {"name", "address"}
    for name in ("credential.json", "routes.json"):
        path = gateway.data_dir / "gateway" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads((gateway.data_dir / "gateway/credential.json").read_text()) == {
        "gateway_id": "gateway1",
        "credential": CREDENTIAL,
    }


def test_every_version_applied_is_reported(house):
    engine = house.engine(answers)
    house.publish(engine)
    house.gateway()
    house.publish(engine)
    house.publish(engine)

    assert house.plane.applied == [1, 2, 3]


def test_a_gateway_starts_from_disk_while_the_control_plane_is_away(house, http):
    house.publish(house.engine(answers))
    gateway = house.gateway()
    gateway.stop()
    house.plane.go_away()
    gateway.start()

    assert until(lambda: _status(http, gateway) == 200)

    house.plane.snapshot = routes(house.engines[0].port, version=9)
    house.plane.come_back()
    until(lambda: house.plane.applied == [1, 9])
    assert len(house.plane.enrolled) == 1


def test_older_routes_of_a_restored_control_plane_are_taken(house):
    house.publish(engine := house.engine(answers))
    house.publish(engine)
    house.gateway()

    house.publish_snapshot(routes(engine.port, version=1))

    assert house.plane.applied == [2, 1]


def test_routes_that_cannot_be_read_change_nothing(house, http):
    house.publish(engine := house.engine(answers))
    gateway = house.gateway()
    house.plane.snapshot = routes(engine.port, version=2) | {"format": 3}

    until(lambda: "upgrade the gateway" in gateway.log.read_text())

    assert _status(http, gateway) == 200
    assert house.plane.applied == [1]


def test_a_disk_that_takes_nothing_keeps_no_revoked_key_alive(house, http):
    house.publish(engine := house.engine(answers))
    gateway = house.gateway()
    kept = gateway.data_dir / "gateway" / "routes.json"
    in_the_way = kept.with_name(".routes.json.new")
    in_the_way.mkdir()
    snapshot = routes(engine.port, version=2)
    del snapshot["keys"][digest(KEY)]
    house.plane.snapshot = snapshot

    until(lambda: _status(http, gateway) == 401)
    until(lambda: "the disk takes nothing" in gateway.log.read_text())
    assert house.plane.applied == [1], "a promotion waits for routes that outlive a crash"

    in_the_way.rmdir()
    until(lambda: house.plane.applied == [1, 2])
    assert json.loads(kept.read_text())["version"] == 2


def test_keys_that_a_newer_control_plane_adds_are_ignored(house, http):
    snapshot = routes(house.engine(answers).port)
    snapshot["new"] = snapshot["models"]["modelaaa"]["new"] = {"unknown": True}
    house.publish_snapshot(snapshot)

    assert _status(http, house.gateway()) == 200


def test_a_nudge_brings_new_routes_at_once(house, broker):
    house.publish(engine := house.engine(answers))
    house.gateway("--poll-seconds=60", broker=broker)
    with redis.Redis.from_url(broker) as valkey:
        until(lambda: valkey.pubsub_numsub("routes_version")[0][1] == 1)
        versions = count(2)

        def seconds_until_applied() -> float:
            version = next(versions)
            house.plane.snapshot = routes(engine.port, version=version)
            started = time.monotonic()
            valkey.publish("routes_version", str(version))
            until(lambda: version in house.plane.applied, seconds=90)
            return time.monotonic() - started

        assert quickest(seconds_until_applied, enough=1) < 1


def _status(http, gateway) -> int:
    return http.post(gateway.url + CHAT, json={}).status_code
