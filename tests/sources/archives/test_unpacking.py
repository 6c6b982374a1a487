"""Archives unpacked, and refused where that could do harm."""

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.sources import SourceOptions, read_facts
from tests.archive_server import ArchiveServer, packed
from tests.sources.archives.asking import PATH, behind, fetched, member, refusal, resolved


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
    resolution = resolved(site, options)
    assert resolution.commit == hashlib.sha256(site.files[PATH]).hexdigest()
    seen = fetched(resolution, tmp_path / "model", options)
    assert seen[-1] == resolution.size_bytes
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
    outcome = refusal("EUR-UNSAFE", lambda: resolved(site, options))
    assert "not unpacked" in outcome.sentence
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
