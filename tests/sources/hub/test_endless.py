"""A hub whose answers have no end."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.sources import SourceOptions, hub_http, resolve
from controlplane.sources.download import Download
from controlplane.sources.looking import no_look
from controlplane.sources.resolved import SourceFile
from tests.manual_clock import ManualClock
from tests.sources.hub.asking import Repository, refusal
from tests.workers.gateway.stage.engine import Call, Engine, Script


def failure_of(script: Script, options: SourceOptions, repository: Repository) -> Any:
    with closing(Engine(script)) as hub:
        text = replace(options, hf_endpoint=f"http://127.0.0.1:{hub.port}", attempts=1)
        return refusal(lambda: resolve(repository(), token=None, options=text)).failure


def endless(call: Call, status: bytes = b"200 OK") -> None:
    call.send(b"HTTP/1.1 %b\r\n\r\n" % status)
    while True:
        call.send(b" " * 65536)


def test_a_description_without_end_is_left(
    options: SourceOptions, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_http, "LONGEST_DESCRIPTION_BYTES", 1_000_000)
    failure = failure_of(endless, options, repository)
    assert failure.code == "EHF-OFFLINE"
    assert "an answer of more than 1000000 bytes" in failure.detail


def test_a_description_that_comes_byte_by_byte_is_left_after_its_time(
    options: SourceOptions, repository: Repository
) -> None:
    clock = ManualClock()

    def slow(call: Call) -> None:
        call.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            clock.advance(10)
            call.send(b" ")

    failure = failure_of(slow, replace(options, clock=clock), repository)
    assert failure.code == "EHF-TIMEOUT"


@pytest.mark.parametrize(
    ("status", "code"),
    [(b"500 X", "EHF-UNAVAILABLE"), (b"404 X\r\nx-error-code: RepoNotFound", "EHF-NOT-FOUND")],
)
def test_an_error_without_end_is_the_error_that_it_says(
    options: SourceOptions, repository: Repository, status: bytes, code: str
) -> None:
    assert failure_of(lambda call: endless(call, status), options, repository).code == code


class EndlessRemote:
    """A pinned checkpoint of which each file goes on for ever."""

    errors = (OSError,)

    @contextmanager
    def stream(self, file: SourceFile, start: int) -> Iterator[tuple[Iterator[bytes], int]]:
        yield iter(lambda: b"x" * 1000, None), 0

    def corrupt(self, path: str, expected: str, found: str) -> Exception:
        return ValueError(f"{path}: {expected}, not {found}")


def test_a_file_that_goes_on_beyond_its_size_fills_no_disk(
    tmp_path: Path, options: SourceOptions
) -> None:
    remote: Any = EndlessRemote()
    reported: list[int] = []
    download = Download(
        remote,
        file=SourceFile(path="config.json", size_bytes=2500),
        target=tmp_path / "config.json",
        options=options,
        on_bytes=reported.append,
        look=no_look,
        stop=threading.Event(),
    )
    with pytest.raises(ValueError, match=r"config\.json: 2500 bytes, not 3000 bytes"):
        download.run()
    assert sum(reported) == 0
    assert not list(tmp_path.glob("*.partial"))
