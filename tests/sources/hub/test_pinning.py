"""Which files of which commit are taken from a hub."""

from pathlib import Path

from controlplane.artifacts import describe
from controlplane.sources import SourceOptions, resolve
from tests.hub_server import HubServer
from tests.sources.hub.asking import Repository, fetched, files_of, refusal


def test_a_branch_is_pinned_to_its_commit(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    commit = hub.add("org/tiny", tiny)
    later = hub.add("org/tiny", {**files_of(tiny), "config.json": b"{}"}, branch="next")
    assert resolve(repository(), token=None, options=options).commit == commit
    assert resolve(repository(revision="next"), token=None, options=options).commit == later
    pinned = resolve(repository(revision="next"), token=None, options=options, commit=commit)
    assert pinned.commit == commit


def test_the_fetched_files_are_those_of_the_repository(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    seen = fetched(resolved, tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == (resolved.size_bytes, resolved.size_bytes)


def test_only_files_that_a_runtime_reads_are_fetched(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    extra = {
        "README.md": b"# GPU",
        ".gitattributes": b"",
        "pytorch_model.bin": b"pickle",
        "modeling_tiny.py": b"import os",
        "trainer_state.json": b"{}",
        "onnx/model.onnx": b"onnx",
        "original/params.json": b"{}",
    }
    hub.add("org/tiny", {**files_of(tiny), **extra})
    fetched(resolve(repository(), token=None, options=options), tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_branch_that_moves_in_between_changes_nothing(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.add("org/tiny", {"config.json": b"{}", "model.safetensors": b"other"})
    fetched(resolved, tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_commit_that_is_gone_in_between_is_said(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.repositories["org/tiny"].commits.clear()
    hub.repositories["org/tiny"].branches.clear()
    failure = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert failure.code == "EHF-REVISION"
    assert failure.fix is None


def test_a_file_name_that_leads_outside_is_refused(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", {**files_of(tiny), "../../evil.json": b"{}"})
    failure = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert failure.code == "EHF-NAME"
    assert "`../../evil.json`" in failure.sentence


def test_a_training_project_of_the_hosted_product_is_refused_with_what_to_do(
    options: SourceOptions, repository: Repository
) -> None:
    request = repository("my-project", source="BASETEN_TRAINING")
    failure = refusal(lambda: resolve(request, token=None, options=options)).failure
    assert failure.code == "EHS-HOSTED-TRAINING"
    assert "`my-project`" in failure.sentence
    assert "`S3`" in (failure.hint or "")
    assert "`LOCAL`" in (failure.hint or "")
