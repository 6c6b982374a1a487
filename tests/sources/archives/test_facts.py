"""Facts read from an archive without fetching the whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.sources import SourceOptions, folder_facts, read_facts
from tests.archive_server import ArchiveServer, packed
from tests.sources.archives.asking import PATH, behind, fetched, refusal, resolved


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
    address = behind(site.url(PATH))
    outcome = refusal("EUR-FACTS", lambda: read_facts(address, token=None, options=tight))
    assert "--sort=name" in (outcome.hint or "")
