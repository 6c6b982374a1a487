"""Archives behind an address: fetched, unpacked, refused."""

import hashlib
import io
import socket
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.domain.failures import Failure
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import (
    Resolved,
    SourceFailure,
    SourceOptions,
    fetch,
    folder_facts,
    prune,
    read_facts,
    resolve,
)
from tests.archive_server import ArchiveServer, Trouble, packed

PATH = "/llama.tar.gz"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site() -> Iterator[ArchiveServer]:
    with ArchiveServer() as server:
        yield server


@pytest.fixture
def options(tmp_path: Path) -> SourceOptions:
    return SourceOptions(
        allow_private_addresses=True,
        cache_dir=tmp_path / "cache",
        timeout_seconds=0.5,
        attempts=3,
        backoff_seconds=0.01,
    )


@pytest.fixture(scope="session")
def files(tiny: Path) -> dict[str, bytes]:
    # As `tar --sort=name` packs them.
    return {path.name: path.read_bytes() for path in sorted(tiny.iterdir())}


def behind(url: str) -> CheckpointRepository:
    return CheckpointRepository.model_validate({"source": "REMOTE_URL", "repo": url})


def resolved(site: ArchiveServer, options: SourceOptions, commit: str | None = None) -> Resolved:
    return resolve(behind(site.url(PATH)), token=None, options=options, commit=commit)


def fetched(found: Resolved, destination: Path, options: SourceOptions) -> list[int]:
    seen: list[int] = []
    entries = fetch(
        found,
        destination,
        token=None,
        options=options,
        on_progress=lambda done, total: seen.append(done),
    )
    assert entries == describe(destination)
    return seen


def refusal(code: str, call: Callable[[], object]) -> Failure:
    with pytest.raises(SourceFailure) as caught:
        call()
    found = caught.value.failure
    assert found.code == code, found
    assert found.hint
    assert found.sentence.endswith(".")
    return found


def kept_folder(options: SourceOptions) -> Path:
    assert options.cache_dir is not None
    return next((options.cache_dir / "archives").iterdir())


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("folder", ["", "./", "llama/", "./exports/llama-v1/"])
def test_an_archive_is_pinned_by_its_digest_and_unpacked(
    site: ArchiveServer,
    options: SourceOptions,
    files: dict[str, bytes],
    tiny: Path,
    tmp_path: Path,
    compressed: bool,
    form: int,
    folder: str,
) -> None:
    named = {f"{folder}{name}": body for name, body in files.items()}
    site.files[PATH] = packed(named, compressed=compressed, form=form)
    found = resolved(site, options)
    assert found.commit == hashlib.sha256(site.files[PATH]).hexdigest()
    seen = fetched(found, tmp_path / "model", options)
    assert seen[-1] == found.size_bytes
    assert describe(tmp_path / "model") == describe(tiny)


def test_only_what_a_runtime_reads_is_unpacked(
    site: ArchiveServer,
    options: SourceOptions,
    files: dict[str, bytes],
    tiny: Path,
    tmp_path: Path,
) -> None:
    folder = tarfile.TarInfo("llama")
    folder.type = tarfile.DIRTYPE
    named = {f"llama/{name}": body for name, body in files.items()}
    more = {"llama/README.md": b"#", "llama/run.sh": b"rm"}
    left = {"._llama": b"x", "llama/._config.json": b"x", "llama/.DS_Store": b"x"}
    site.files[PATH] = packed({**named, **more, **left}, extra=(folder,))
    fetched(resolved(site, options), tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)


def test_long_names_are_read_in_both_ways_of_writing_them(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    folder = "a" * 120 + "/" + "b" * 120 + "/"
    named = {f"{folder}{name}": body for name, body in files.items()}
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        site.files[PATH] = packed(named, form=form)
        fetched(resolved(site, options), tmp_path / str(form), options)


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.type, about.linkname = kind, target
    return about


def sparse(name: str) -> tarfile.TarInfo:
    about = member(name)
    about.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "99999999999"}
    return about


@pytest.mark.parametrize(
    "evil",
    [
        member("../../evil.json"),
        member("llama/../../evil.json"),
        member("/etc/evil.json"),
        member("a//b.json"),
        member("a\\..\\evil.json"),
        member("evil\n.json"),
        member("config.json"),
        member("vocab.txt", tarfile.SYMTYPE, "/etc/passwd"),
        member("vocab.txt", tarfile.SYMTYPE, "tokenizer.json"),
        member("vocab.txt", tarfile.LNKTYPE, "config.json"),
        member("vocab.txt", tarfile.CHRTYPE),
        member("vocab.txt", tarfile.BLKTYPE),
        member("vocab.txt", tarfile.FIFOTYPE),
        member("vocab.txt", tarfile.GNUTYPE_SPARSE),
        member("vocab.txt", b"M"),
        member("../evil", tarfile.DIRTYPE),
        sparse("vocab.txt"),
    ],
    ids=lambda each: f"{each.name!r}-{each.type!r}",
)
def test_what_could_do_harm_is_never_unpacked(
    site: ArchiveServer,
    options: SourceOptions,
    files: dict[str, bytes],
    tmp_path: Path,
    evil: tarfile.TarInfo,
) -> None:
    site.files[PATH] = packed(files, extra=(evil,))
    found = refusal("EUR-UNSAFE", lambda: resolved(site, options))
    assert "not unpacked" in found.sentence
    assert not list(tmp_path.rglob("evil*"))
    refusal("EUR-UNSAFE", lambda: read_facts(behind(site.url(PATH)), token=None, options=options))


def test_an_archive_that_grows_beyond_reason_is_refused_before_it_is_unpacked(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed({**files, "zeros.json": bytes(50_000_000)})
    tight = replace(options, archive_small_bytes=10_000_000)
    assert "0.0" in refusal("EUR-TOO-LARGE", lambda: resolved(site, tight)).sentence
    assert resolved(site, options)


def test_an_announced_size_beyond_reason_costs_nothing(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    huge = member("model-extra.safetensors")
    huge.size = 8 * 1024**4
    site.files[PATH] = packed(files)
    tail = packed({}, compressed=False, extra=())
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, body in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(body)
            tar.addfile(about, io.BytesIO(body))
        content.write(huge.tobuf(tarfile.GNU_FORMAT))
    site.files[PATH] = content.getvalue() + tail
    refusal("EUR-TOO-LARGE", lambda: resolved(site, options))


def test_too_many_files_are_refused(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed({**files, **{f"x/{number}": b"" for number in range(100)}})
    few = replace(options, archive_files=50)
    refusal("EUR-TOO-LARGE", lambda: resolved(site, few))


def test_a_header_that_would_fill_the_memory_is_refused(
    site: ArchiveServer, options: SourceOptions
) -> None:
    for kind in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME):
        header = member("x", kind)
        header.size = 2**40
        site.files[PATH] = header.tobuf(tarfile.GNU_FORMAT)
        refusal("EUR-UNSAFE", lambda: resolved(site, options))


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


def test_a_broken_download_goes_on_where_it_stopped(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    site.troubles[PATH] = Trouble(break_after=100_000, times=3)
    found = resolved(site, options)
    ranges = [each.range for each in site.requests]
    assert ranges == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]
    fetched(found, tmp_path / "model", options)


def test_a_download_goes_on_in_the_next_build(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    resolved(site, options)
    folder = kept_folder(options)
    # As if the process had been killed in the middle.
    (folder / "partial").write_bytes((folder / "archive").read_bytes()[:150_000])
    for name in ("archive", "archive.json"):
        (folder / name).unlink()
    site.requests.clear()
    site.troubles[PATH] = Trouble(break_after=0)
    refusal("EUR-BROKEN", lambda: resolved(site, options))
    site.troubles.clear()
    assert resolved(site, options)
    assert {each.range for each in site.requests} == {"bytes=150000-"}


def test_a_whole_part_is_not_fetched_again(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    resolved(site, options)
    folder = kept_folder(options)
    # As if the process had been killed just before the archive got its name.
    (folder / "archive").rename(folder / "partial")
    (folder / "archive.json").unlink()
    site.requests.clear()
    assert resolved(site, options)
    assert [each.range for each in site.requests] == [f"bytes={len(site.files[PATH])}-"]


def test_an_archive_that_changes_during_the_download_is_fetched_anew(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    newer = packed({**files, "generation_config.json": b"{}"})
    site.files[PATH] = packed(files)
    site.troubles[PATH] = Trouble(break_after=100_000, times=1)

    def change_it(done: int, total: int | None) -> None:
        site.files[PATH] = newer

    asked = behind(site.url(PATH))
    found = resolve(asked, token=None, options=options, on_progress=change_it)
    assert found.commit == hashlib.sha256(newer).hexdigest()
    assert [each.range for each in site.requests] == [None, "bytes=100000-"]


@pytest.mark.parametrize("lacks", ["has_ranges", "has_etags", "announces_length"])
def test_a_server_that_can_less_is_fetched_from_all_the_same(
    site: ArchiveServer,
    options: SourceOptions,
    files: dict[str, bytes],
    tiny: Path,
    tmp_path: Path,
    lacks: str,
) -> None:
    setattr(site, lacks, False)
    site.files[PATH] = packed(files)
    if lacks != "announces_length":  # a body without a length cannot be told from a broken one
        site.troubles[PATH] = Trouble(break_after=100_000, times=1)
    fetched(resolved(site, options), tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_second_build_asks_and_fetches_nothing_and_unused_archives_are_pruned(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    first = resolved(site, options)
    seen: list[int] = []
    again = resolve(
        behind(f"{site.url(PATH)}?X-Amz-Signature=another"),
        token=None,
        options=options,
        on_progress=lambda done, total: seen.append(done),
    )
    assert again.commit == first.commit
    assert seen == []
    site.requests.clear()
    assert resolved(site, options, commit=first.commit) == first
    assert site.requests == []
    assert options.cache_dir is not None
    assert prune(options.cache_dir, 3600) == 0
    fetched(first, tmp_path / "model", options)
    assert prune(options.cache_dir, 0) == 1


def test_two_archives_that_only_a_parameter_tells_apart_are_kept_apart(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    site.has_etags = False
    for query in ("?id=1&X-Amz-Date=1", "?id=2&X-Amz-Date=1", "?id=2&X-Amz-Date=2&sig=3"):
        resolve(behind(f"{site.url(PATH)}{query}"), token=None, options=options)
    assert options.cache_dir is not None
    assert len(list((options.cache_dir / "archives").iterdir())) == 2


def test_a_pinned_archive_that_is_another_now_is_not_built_from(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    pinned = resolved(site, options).commit
    site.files[PATH] = packed({**files, "generation_config.json": b"{}"})
    resolved(site, options)
    found = refusal("EUR-CHANGED", lambda: resolved(site, options, commit=pinned))
    assert pinned in found.sentence


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
    asked = behind(site.url(f"{PATH}?X-Amz-Signature=5ecret"))
    for call in (resolve, read_facts):
        found = refusal(code, lambda: call(asked, token=None, options=options))  # noqa: B023
        assert "5ecret" not in str(found.to_json())
        assert "internal detail" not in str(found.to_json())
        assert site.url(PATH) in found.sentence


def test_a_server_in_trouble_is_asked_again(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    site.files[PATH] = packed(files)
    site.troubles[PATH] = Trouble(status=503, times=2)
    assert resolved(site, options)


def test_silence_and_absence_are_told_apart(site: ArchiveServer, options: SourceOptions) -> None:
    site.files[PATH] = b"x" * 1000
    site.troubles[PATH] = Trouble(seconds=30)
    quick = replace(options, timeout_seconds=0.1, attempts=1)
    refusal("EUR-TIMEOUT", lambda: resolved(site, quick))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        away = behind(f"http://127.0.0.1:{unused.getsockname()[1]}/x.tar")
        refusal("EUR-OFFLINE", lambda: resolve(away, token=None, options=quick))
    away = behind("http://nowhere.invalid/x.tar")
    refusal("EUR-OFFLINE", lambda: resolve(away, token=None, options=quick))


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
    found = refusal("EUR-URI", lambda: resolve(behind(url), token=None, options=options))
    assert "5ecret" not in str(found.to_json())
    refusal("EUR-URI", lambda: read_facts(behind(url), token=None, options=options))


def test_a_checkpoint_larger_than_the_disk_is_refused_before_the_download(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    found = resolved(site, options)
    huge = replace(found, files=(replace(found.files[0], size_bytes=2**60),))
    refusal("EUR-DISK-FULL", lambda: fetched(huge, tmp_path / "model", options))


def test_a_disk_that_fills_up_is_said(
    site: ArchiveServer, files: dict[str, bytes], tmp_path: Path
) -> None:
    site.files[PATH] = packed(files)
    script = f"""
import resource, pathlib
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import *
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
options = SourceOptions(allow_private_addresses=True, cache_dir=pathlib.Path({str(tmp_path)!r}))
try:
    resolve(CheckpointRepository(source="REMOTE_URL", repo={site.url(PATH)!r}), token=None,
            options=options)
except SourceFailure as error:
    print(error.failure.code)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "EUR-DISK-FULL", result.stderr


@pytest.mark.parametrize("compressed", [True, False])
def test_facts_of_a_small_archive_are_those_of_the_fetched_folder(
    site: ArchiveServer,
    options: SourceOptions,
    files: dict[str, bytes],
    tmp_path: Path,
    compressed: bool,
) -> None:
    named = {f"llama/{name}": body for name, body in files.items()}
    site.files[PATH] = packed(named, compressed=compressed)
    facts = read_facts(behind(site.url(PATH)), token=None, options=options)
    assert not (options.cache_dir or tmp_path).exists()
    fetched(resolved(site, options), tmp_path / "model", options)
    assert facts == folder_facts(tmp_path / "model", commit=facts.commit)
    assert (facts.commit or "").startswith("version-")


def test_facts_of_a_large_plain_tar_come_through_ranges(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    large = {**files, "notes.txt": bytes(20_000_000)}
    site.files[PATH] = packed(large, compressed=False)
    tight = replace(options, archive_peek_bytes=3_000_000)
    facts = read_facts(behind(site.url(PATH)), token=None, options=tight)
    assert facts.weight_bytes == 4 * (facts.parameters or 0)
    assert len(site.requests) == 2


def test_facts_of_a_large_packed_archive_are_what_its_front_says(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    front = ("config.json", "generation_config.json")
    rest = {name: body for name, body in files.items() if name not in front}
    site.files[PATH] = packed({**{name: files[name] for name in front}, **rest})
    tight = replace(options, archive_peek_bytes=70_000)
    facts = read_facts(behind(site.url(PATH)), token=None, options=tight)
    assert (facts.layers, facts.weight_bytes, facts.files) == (2, None, ())
    assert facts.has_weights is None
    assert facts.parameters is not None, "estimated from the shape"


def test_facts_that_come_too_late_say_how_to_pack(
    site: ArchiveServer, options: SourceOptions, files: dict[str, bytes]
) -> None:
    rest = {name: body for name, body in files.items() if name != "config.json"}
    site.files[PATH] = packed({**rest, "config.json": files["config.json"]})
    tight = replace(options, archive_peek_bytes=70_000)
    asked = behind(site.url(PATH))
    found = refusal("EUR-FACTS", lambda: read_facts(asked, token=None, options=tight))
    assert "--sort=name" in (found.hint or "")
