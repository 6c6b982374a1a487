"""What a gateway says of its samples, and what it replays by order: only figures leave it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.manual_clock import ManualClock
from workers.gateway.consents import Consent
from workers.gateway.control_plane import BatchRefused, ControlPlaneAway
from workers.gateway.traffic_samples import reports
from workers.gateway.traffic_samples.outlines import Outline
from workers.gateway.traffic_samples.reports import SampleReports
from workers.gateway.traffic_samples.sample_files import SUFFIX, SampleFiles
from workers.gateway.traffic_samples.sample_form import pack
from workers.gateway.traffic_samples.simulating import SimulationFailed

CONSENT = Consent(id="consent1", share=1.0, kept_seconds=60.0)
TEXT = list(range(60))
SETTINGS = [
    {"manner": "off", "longest_draft_tokens": 0, "draft_factor": 1},
    {"manner": "filled", "longest_draft_tokens": 31, "draft_factor": 1},
]
ORDER = {
    "tuning_id": "tuning01", "consent_id": CONSENT.id, "model_id": "modelaaa",
    "settings": SETTINGS, "device": "cpu",
}  # fmt: skip


class Plane:
    """Keeps what it is told, and orders what it says."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.orders: Sequence[Mapping[str, Any]] = ()
        self.fails: Exception | None = None

    async def report_samples(self, report: bytes, _credential: object) -> bytes:
        if self.fails is not None:
            raise self.fails
        self.told.append(json.loads(report))
        return json.dumps({"orders": self.orders}).encode()

    async def credential(self) -> None:
        return None


@pytest.fixture
def files(tmp_path: Path) -> SampleFiles:
    made = SampleFiles(tmp_path / "samples", clock=ManualClock(), free=lambda _: None)
    made.sweep({CONSENT.id: CONSENT})
    return made


@pytest.fixture
def plane() -> Plane:
    return Plane()


def reporting(plane: Plane, files: SampleFiles, *consents: Consent) -> SampleReports:
    models = {each.id: SimpleNamespace(consent=each) for each in consents}
    snapshot: Any = SimpleNamespace(models=models)
    report: Any = plane
    return SampleReports(report, report, files, lambda: snapshot)


async def until_done(sampled: SampleReports) -> None:
    assert sampled._running is not None
    await sampled._running[1]


@pytest.mark.process
def test_an_ordered_replay_is_told_as_figures_once(plane: Plane, files: SampleFiles) -> None:
    files.keep(CONSENT, "modelaaa", pack(Outline(TEXT, TEXT)))
    (files.folder(CONSENT.id, "modelaaa") / f"{10**19}-torn{SUFFIX}").write_bytes(b"torn")

    async def play() -> None:
        sampled = reporting(plane, files, CONSENT)
        plane.orders = [ORDER]
        await sampled.send()
        await until_done(sampled)
        plane.orders = []
        await sampled.send()
        await sampled.send()
        await sampled.close()

    asyncio.run(play())
    first, second, third = plane.told
    assert (first["samples"][0]["samples"], first["figures"], third["figures"]) == (2, {}, {})
    figures = second["figures"]["tuning01"]
    assert (figures["answers"], figures["answer_tokens"]) == (1, len(TEXT))
    plain, drafted = figures["counted"]
    assert plain["steps"] == len(TEXT)
    assert drafted["steps"] < len(TEXT) / 4


def test_where_no_team_consents_nothing_is_said(plane: Plane, files: SampleFiles) -> None:
    files.keep(CONSENT, "modelaaa", b"kept before")
    asyncio.run(reporting(plane, files).send())
    assert plane.told == []
    assert not files.folder(CONSENT.id, "modelaaa").exists()


def test_an_order_that_is_gone_ends_its_replay_and_the_next_one_begins(
    plane: Plane, files: SampleFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    has_begun = asyncio.Event()

    async def never(order: Mapping[str, Any]) -> Mapping[str, Any]:
        begun.append(order["folder"])
        has_begun.set()
        return await asyncio.Future[Mapping[str, Any]]()

    monkeypatch.setattr(reports, "simulate", never)

    async def play() -> None:
        sampled = reporting(plane, files, CONSENT)
        for orders in ([ORDER], [], [{**ORDER, "tuning_id": "tuning02", "model_id": "modelbbb"}]):
            plane.orders = orders
            await sampled.send()
            if orders:
                await has_begun.wait()
                has_begun.clear()
        await sampled.close()

    asyncio.run(play())
    assert [each.rpartition("/")[2] for each in begun] == ["modelaaa", "modelbbb"]


def test_why_a_replay_failed_is_told_again_until_it_is_heard(
    plane: Plane, files: SampleFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_order: Mapping[str, Any]) -> Mapping[str, Any]:
        raise SimulationFailed("no_numba")

    monkeypatch.setattr(reports, "simulate", fails)

    async def play() -> None:
        sampled = reporting(plane, files, CONSENT)
        plane.orders = [ORDER]
        await sampled.send()
        await until_done(sampled)
        for trouble in (ControlPlaneAway("away"), None):
            plane.fails = trouble
            await sampled.send()
        await until_done(sampled)
        plane.fails = BatchRefused("400")
        await sampled.send()
        plane.fails = None
        await sampled.send()
        await sampled.close()

    asyncio.run(play())
    figures = [each["figures"] for each in plane.told]
    assert figures == [{}, {"tuning01": {"failure": "no_numba"}}, {}]


@pytest.mark.parametrize("orders", [[{**ORDER, "consent_id": "../up"}], [{}], "no list", [7]])
def test_an_order_that_makes_no_sense_is_left(
    plane: Plane, files: SampleFiles, orders: Any
) -> None:
    plane.orders = orders
    sampled = reporting(plane, files, CONSENT)
    asyncio.run(sampled.send())
    assert sampled._running is None
