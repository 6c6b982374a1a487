"""Answers that are no archive, and addresses that lead to none."""

import socket
from dataclasses import replace

import pytest

from controlplane.sources import SourceOptions, read_facts, resolve
from tests.archive_server import ArchiveServer, Trouble, packed
from tests.loopback_server import nobody_listens
from tests.manual_clock import ManualClock
from tests.sources.archives.asking import PATH, behind, refusal, resolved


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04rest", "zip"),
        (b"<!doctype html>", "web page"),
        (b"BZh9", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstandard"),
        (b"hello" * 1000, "no tar archive"),
        (b"short", "cut off"),
        (b"", "cut off"),
        (b"\x1f\x8bnot gzip", "damaged"),
    ],
)
def test_what_is_no_tar_archive_is_told(
    site: ArchiveServer, options: SourceOptions, content: bytes, words: str
) -> None:
    site.files[PATH] = content
    assert words in refusal("EUR-NOT-AN-ARCHIVE", lambda: resolved(site, options)).sentence
    refusal(
        "EUR-NOT-AN-ARCHIVE",
        lambda: read_facts(behind(site.url(PATH)), token=None, options=options),
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_an_archive_that_was_cut_off_is_told(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], compressed: bool
) -> None:
    whole = packed(files, compressed=compressed)
    site.files[PATH] = whole[: len(whole) // 2]
    refusal("EUR-NOT-AN-ARCHIVE", lambda: resolved(site, options))


def test_an_archive_without_a_checkpoint_is_told(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed({"README.md": b"#", "notes/x.txt": b""})
    refusal("EUR-NOT-A-CHECKPOINT", lambda: resolved(site, options))
    weights = {"model.bin": b"", "config.json": b"{}"}
    site.files[PATH] = packed(weights)
    refusal("EUR-PICKLED-WEIGHTS", lambda: resolved(site, options))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "EUR-DENIED"),
        (403, "EUR-DENIED"),
        (404, "EUR-NOT-FOUND"),
        (410, "EUR-NOT-FOUND"),
        (418, "EUR-REFUSED"),
        (429, "EUR-RATE-LIMIT"),
        (500, "EUR-UNAVAILABLE"),
        (503, "EUR-UNAVAILABLE"),
    ],
)
def test_an_answer_that_is_not_the_archive_is_told_without_the_signature(
    site: ArchiveServer, options: SourceOptions, status: int, code: str
) -> None:
    site.files[PATH] = b""
    site.troubles[PATH] = Trouble(status=status, body=b"internal detail")
    address = behind(site.url(f"{PATH}?X-Amz-Signature=5ecret"))
    for call in (resolve, read_facts):
        outcome = refusal(code, lambda: call(address, token=None, options=options))  # noqa: B023
        assert "5ecret" not in str(outcome.to_json())
        assert "internal detail" not in str(outcome.to_json())
        assert site.url(PATH) in outcome.sentence


def test_a_server_in_trouble_is_asked_again(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], clock: ManualClock
) -> None:
    site.files[PATH] = packed(files)
    site.troubles[PATH] = Trouble(status=503, times=2)
    assert resolved(site, options)
    assert clock.slept == [1.0, 2.0]


def test_silence_and_absence_are_told_apart(
    site: ArchiveServer, options: SourceOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files[PATH] = b"x" * 1000
    site.troubles[PATH] = Trouble(silent=True)
    quick = replace(options, timeout_seconds=0.1, attempts=1)
    refusal("EUR-TIMEOUT", lambda: resolved(site, quick))
    with nobody_listens() as place:
        away = behind(f"http://{place}/x.tar")
        refusal("EUR-OFFLINE", lambda: resolve(away, token=None, options=quick))
    monkeypatch.setattr(socket, "getaddrinfo", _unknown)
    away = behind("http://nowhere.invalid/x.tar")
    refusal("EUR-OFFLINE", lambda: resolve(away, token=None, options=quick))


def _unknown(*_: object, **__: object) -> None:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/x.tar",
        "file:///etc/passwd",
        "https://user:5ecret@example.com/x.tar",
        "https:///x.tar",
        "https://example.com:port/x.tar",
        "/x.tar",
        "https://exam ple.com/x.tar",
    ],
)
def test_an_address_of_another_form_is_refused(options: SourceOptions, url: str) -> None:
    outcome = refusal("EUR-URI", lambda: resolve(behind(url), token=None, options=options))
    assert "5ecret" not in str(outcome.to_json())
    refusal("EUR-URI", lambda: read_facts(behind(url), token=None, options=options))
