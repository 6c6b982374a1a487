"""A hub that is away, slow, in trouble, or no hub at all."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.sources import SourceOptions, resolve
from tests.hub_server import HubServer, Trouble
from tests.loopback_server import nobody_listens
from tests.manual_clock import ManualClock
from tests.sources.hub.asking import Repository, refusal


def test_a_hub_out_of_reach_is_offline(options: SourceOptions, repository: Repository) -> None:
    with nobody_listens() as place:
        away = replace(options, hf_endpoint=f"http://{place}")
        failure = refusal(lambda: resolve(repository(), token=None, options=away)).failure
    assert failure.code == "EHF-OFFLINE"
    assert away.hf_endpoint in failure.sentence


def test_offline_mode_of_the_machine_is_said(
    hub: HubServer,
    options: SourceOptions,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    failure = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert failure.code == "EHF-OFFLINE"
    assert "HF_HUB_OFFLINE" in (failure.detail or "")


@pytest.mark.parametrize(
    "body", [b"<html>Sign in</html>", b"[]", b'{"sha": "x"}', b'{"siblings": 3}']
)
def test_something_else_than_a_hub_is_told_from_a_hub(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, body: bytes
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(status=200, body=body))
    failure = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert failure.code == "EHF-NOT-A-HUB"


def test_a_mirror_that_lists_no_sizes_is_refused(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    commit = hub.add("org/tiny", tiny)
    names = [{"rfilename": path.name} for path in tiny.iterdir()]
    answer = json.dumps({"sha": commit, "siblings": names}).encode()
    hub.trouble("info", Trouble(status=200, body=answer))
    failure = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert failure.code == "EHF-NOT-A-HUB"


def test_a_silent_hub_times_out(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(silent=True))
    quick = replace(options, timeout_seconds=0.1, attempts=2)
    failure = refusal(lambda: resolve(repository(), token=None, options=quick)).failure
    assert failure.code == "EHF-TIMEOUT"


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "EHF-RATE-LIMIT"), (503, "EHF-UNAVAILABLE"), (500, "EHF-UNAVAILABLE")],
)
def test_a_hub_in_trouble_is_asked_again_and_then_named(
    hub: HubServer,
    tiny: Path,
    options: SourceOptions,
    clock: ManualClock,
    repository: Repository,
    status: int,
    code: str,
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(status=status, times=2))
    assert resolve(repository(), token=None, options=options)
    assert clock.slept == [1.0, 2.0]
    hub.trouble("info", Trouble(status=status))
    assert refusal(lambda: resolve(repository(), token=None, options=options)).failure.code == code


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("3600", 60.0), ("soon", 1.0)])
def test_a_hub_that_says_when_to_come_again_is_asked_then_but_within_a_minute(
    hub: HubServer,
    tiny: Path,
    options: SourceOptions,
    clock: ManualClock,
    repository: Repository,
    asked: str,
    waited: float,
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(status=429, headers={"Retry-After": asked}, times=1))
    assert resolve(repository(), token=None, options=options)
    assert clock.slept == [waited]
