"""Samples of a team that consents: kept, bounded, aged, deleted; of another team, never."""

import errno
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import CHAT, FOREIGN_KEY, routes
from tests.workers.gateway.stage.scripts import answers, streams
from workers.gateway.consents import Consent, read_consent
from workers.gateway.traffic_samples import sample_files
from workers.gateway.traffic_samples.sample_files import SUFFIX, SampleFiles
from workers.gateway.traffic_samples.sample_form import unpack
from workers.gateway.traffic_samples.sampler import Sampler

CONSENT = Consent(id="consent1", share=0.5, kept_seconds=60.0)
ROW = {"id": "consent1", "share": 0.5, "kept_seconds": 60.0}
FOREIGN = "/m/modelbbb/environments/production/sync/v1/chat/completions"
ASKED = {"messages": [{"role": "user", "content": "say hi"}]}
CONTENT = b"an outline"


def consenting(*ports: int) -> dict[str, Any]:
    snapshot = routes(*ports)
    snapshot["models"]["modelaaa"]["sampling"] = ROW
    return snapshot


@pytest.fixture
def files(tmp_path: Path) -> SampleFiles:
    return SampleFiles(tmp_path / "samples", clock=ManualClock(), free=lambda _: None)


@pytest.fixture
def sampled(house: House, files: SampleFiles) -> tuple[str, list[float]]:
    """Where to ask a gateway that samples, and the chances that it draws."""
    engine = house.engine(lambda call: (streams if call.json().get("stream") else answers)(call))
    house.publish_snapshot(consenting(engine.port))
    gateway, chances = house.gateway(), [0.4]
    files.sweep({CONSENT.id: CONSENT})
    gateway.inner.sampler = Sampler(files, chance=lambda: chances[0])
    return gateway.url, chances


def kept(files: SampleFiles, model: str = "modelaaa") -> list[Path]:
    return sorted(files.folder(CONSENT.id, model).glob(f"*{SUFFIX}"))


@pytest.mark.parametrize("stream", [False, True])
def test_the_outline_of_a_chosen_answer_is_kept_without_its_words(
    sampled: tuple[str, list[float]], files: SampleFiles, http: httpx.Client, stream: bool
) -> None:
    url, _ = sampled
    assert http.post(url + CHAT, json={**ASKED, "stream": stream}).status_code == 200
    (file,) = wait_for(lambda: kept(files), what="a sample")
    outline = unpack(file.read_bytes())
    assert len(outline.prompt) > 0
    assert len(outline.answer) > 0
    assert file.parent.stat().st_mode & 0o077 == 0
    assert b"hi" not in file.read_bytes()[:24]


def test_who_was_not_chosen_or_does_not_consent_leaves_nothing(
    sampled: tuple[str, list[float]], files: SampleFiles, http: httpx.Client
) -> None:
    url, chances = sampled
    foreign = {"authorization": f"Bearer {FOREIGN_KEY}"}
    assert http.post(url + FOREIGN, json=ASKED, headers=foreign).status_code == 200
    chances[0] = 0.5
    assert http.post(url + CHAT, json=ASKED).status_code == 200
    assert http.post(url + CHAT, content=b"no json").status_code == 400
    chances[0] = 0.0
    assert http.post(url + CHAT, json=ASKED).status_code == 200
    wait_for(lambda: kept(files), what="the sample of the chosen one")
    assert len(kept(files)) == 1
    assert [each.name for each in files.folder(CONSENT.id, "").iterdir()] == ["modelaaa"]


def test_a_consent_that_is_gone_takes_its_samples_with_it_and_keeps_no_more(
    files: SampleFiles,
) -> None:
    files.sweep({CONSENT.id: CONSENT})
    assert files.keep(CONSENT, "modelaaa", CONTENT)
    assert files.sweep({}) == []
    assert not files.folder(CONSENT.id, "modelaaa").exists()
    assert not files.keep(CONSENT, "modelaaa", CONTENT)


def test_before_the_routes_are_known_nothing_is_kept(files: SampleFiles) -> None:
    assert not files.keep(CONSENT, "modelaaa", CONTENT)


def test_samples_end_by_age_by_number_and_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    files = SampleFiles(tmp_path / "samples", clock=clock, free=lambda _: None)
    files.sweep({CONSENT.id: CONSENT})
    for _ in range(4):
        files.keep(CONSENT, "modelaaa", CONTENT)
        clock.advance(20)
    (holding,) = files.sweep({CONSENT.id: CONSENT})
    assert (holding.samples, holding.size_bytes) == (3, 3 * len(CONTENT))
    monkeypatch.setattr(sample_files, "MOST_SAMPLES", 2)
    assert files.sweep({CONSENT.id: CONSENT})[0].samples == 2
    monkeypatch.setattr(sample_files, "MOST_BYTES", len(CONTENT))
    assert files.sweep({CONSENT.id: CONSENT})[0].samples == 1
    clock.advance(100)
    assert files.sweep({CONSENT.id: CONSENT}) == []


def test_what_a_kill_left_half_written_is_swept(files: SampleFiles) -> None:
    files.sweep({CONSENT.id: CONSENT})
    files.keep(CONSENT, "modelaaa", CONTENT)
    half = files.folder(CONSENT.id, "modelaaa") / ".1-ab.new"
    half.write_bytes(b"half")
    assert files.sweep({CONSENT.id: CONSENT})[0].samples == 1
    assert not half.exists()


def test_the_room_of_the_usage_journal_is_left_alone(tmp_path: Path) -> None:
    room = [sample_files.LEAST_FREE_BYTES - 1]
    files = SampleFiles(tmp_path / "samples", clock=ManualClock(), free=lambda _: room[0])
    files.sweep({CONSENT.id: CONSENT})
    assert not files.keep(CONSENT, "modelaaa", CONTENT)
    room[0] += 1
    assert files.keep(CONSENT, "modelaaa", CONTENT)


def test_on_a_full_disk_requests_are_answered_and_it_is_said_once(
    sampled: tuple[str, list[float]],
    files: SampleFiles,
    http: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    url, _ = sampled
    tried: list[str] = []

    def full(_consent: Consent, model_id: str, _content: bytes) -> bool:
        tried.append(model_id)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "keep", full)
    for count in (1, 2):
        assert http.post(url + CHAT, json=ASKED).status_code == 200
        wait_for(lambda count=count: len(tried) == count, what="the attempt")
        wait_for(lambda: "the disk is full" in caplog.text, what="the word of it")
    assert caplog.text.count("the disk is full") == 1


@pytest.mark.parametrize("id", ["../up", "", "a/b"])
def test_an_id_that_could_name_another_folder_is_no_consent(id: str) -> None:
    with pytest.raises(ValueError, match="names a folder"):
        read_consent({"sampling": {**ROW, "id": id}})
