import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import Resolved, SourceFailure, SourceOptions, fetch, prune, resolve
from tests.hub_server import HubServer, Trouble

Repository = Callable[..., CheckpointRepository]
ROOT = Path(__file__).resolve().parents[2]


def fetched(
    resolved: Resolved, destination: Path, options: SourceOptions, token: str | None = None
) -> list[tuple[int, int | None]]:
    seen: list[tuple[int, int | None]] = []
    files = fetch(
        resolved,
        destination,
        token=token,
        options=options,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert files == describe(destination)
    return seen


def refusal(call: Callable[[], object]) -> SourceFailure:
    with pytest.raises(SourceFailure) as caught:
        call()
    assert caught.value.failure.hint
    return caught.value


def test_a_branch_is_pinned_to_its_commit(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    commit = hub.add("org/tiny", tiny)
    later = hub.add("org/tiny", {**_files(tiny), "config.json": b"{}"}, branch="next")
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
        "README.md": b"# card",
        ".gitattributes": b"",
        "pytorch_model.bin": b"pickle",
        "modeling_tiny.py": b"import os",
        "trainer_state.json": b"{}",
        "onnx/model.onnx": b"onnx",
        "original/params.json": b"{}",
    }
    hub.add("org/tiny", {**_files(tiny), **extra})
    fetched(resolve(repository(), token=None, options=options), tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_token_opens_a_gated_repository_and_stays_with_the_hub(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny, gated=True, readers={"hf_good"})
    resolved = resolve(repository(), token="hf_good", options=options)
    fetched(resolved, tmp_path / "model", options, token="hf_good")
    assert {each.token for each in hub.requests if "/cdn/" in each.path} == {None}


def test_gated_without_a_token_names_the_secret_to_set(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny, gated=True, readers={"hf_good"})
    found = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert found.code == "EHF-GATED"
    assert "`org/tiny` is gated and there is no secret `hf_access_token`" in found.sentence
    assert f"{hub.url}/org/tiny" in (found.hint or "")


def test_gated_for_this_token_says_that_access_was_not_given(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny, gated=True, readers={"hf_good"})
    hub.tokens.add("hf_other")
    found = refusal(lambda: resolve(repository(), token="hf_other", options=options))
    assert found.failure.code == "EHF-GATED"
    assert "has not been given access" in found.failure.sentence
    assert "hf_other" not in str(found.failure.to_json())


@pytest.mark.parametrize("token", [None, "hf_other"])
def test_a_missing_and_a_private_repository_read_alike(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, token: str | None
) -> None:
    hub.add("org/secret", tiny, private=True, readers={"hf_good"})
    hub.tokens.add("hf_other")
    for name in ("org/nowhere", "org/secret"):
        found = refusal(lambda: resolve(repository(name), token=token, options=options))  # noqa: B023
        assert found.failure.code == "EHF-NOT-FOUND"
        assert f"`{name}`" in found.failure.sentence


def test_a_missing_revision_is_named(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    found = refusal(lambda: resolve(repository(revision="v9"), token=None, options=options)).failure
    assert found.code == "EHF-REVISION"
    assert "`v9`" in found.sentence
    assert (found.field or "").endswith("checkpoint_repository.revision")


def test_a_bad_token_is_told_from_a_missing_repository(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    found = refusal(lambda: resolve(repository(), token="hf_stale", options=options))
    assert found.failure.code == "EHF-TOKEN"
    assert "hf_stale" not in str(found.failure.to_json())


def test_a_hub_out_of_reach_is_offline(options: SourceOptions, repository: Repository) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        away = replace(options, hf_endpoint=f"http://127.0.0.1:{unused.getsockname()[1]}")
        found = refusal(lambda: resolve(repository(), token=None, options=away)).failure
    assert found.code == "EHF-OFFLINE"
    assert away.hf_endpoint in found.sentence


def test_offline_mode_of_the_machine_is_said(
    hub: HubServer,
    options: SourceOptions,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert found.code == "EHF-OFFLINE"
    assert "HF_HUB_OFFLINE" in (found.detail or "")


@pytest.mark.parametrize(
    "body", [b"<html>Sign in</html>", b"[]", b'{"sha": "x"}', b'{"siblings": 3}']
)
def test_something_else_than_a_hub_is_told_from_a_hub(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, body: bytes
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(status=200, body=body))
    found = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert found.code == "EHF-NOT-A-HUB"


def test_a_mirror_that_lists_no_sizes_is_refused(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    commit = hub.add("org/tiny", tiny)
    names = [{"rfilename": path.name} for path in tiny.iterdir()]
    answer = json.dumps({"sha": commit, "siblings": names}).encode()
    hub.trouble("info", Trouble(status=200, body=answer))
    found = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert found.code == "EHF-NOT-A-HUB"


def test_a_silent_hub_times_out(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(seconds=30))
    quick = replace(options, timeout_seconds=0.1, attempts=2)
    found = refusal(lambda: resolve(repository(), token=None, options=quick)).failure
    assert found.code == "EHF-TIMEOUT"


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "EHF-RATE-LIMIT"), (503, "EHF-UNAVAILABLE"), (500, "EHF-UNAVAILABLE")],
)
def test_a_hub_in_trouble_is_asked_again_and_then_named(
    hub: HubServer,
    tiny: Path,
    options: SourceOptions,
    repository: Repository,
    status: int,
    code: str,
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("info", Trouble(status=status, times=2))
    assert resolve(repository(), token=None, options=options)
    hub.trouble("info", Trouble(status=status))
    assert refusal(lambda: resolve(repository(), token=None, options=options)).failure.code == code


def test_a_broken_download_goes_on_where_it_stopped(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("model.safetensors", Trouble(break_after=100_000, times=3))
    fetched(resolve(repository(), token=None, options=options), tmp_path / "model", options)
    ranges = [each.range for each in hub.asked_for("model.safetensors") if "/cdn/" in each.path]
    assert ranges == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]


def test_a_download_goes_on_in_the_next_build_after_the_first_was_killed(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    first = replace(options, attempts=1)
    partial = options.cache_dir / "hub/org--tiny" / resolved.commit / "model.safetensors.partial"  # type: ignore[operator]
    partial.parent.mkdir(parents=True)
    partial.write_bytes((tiny / "model.safetensors").read_bytes()[:150_000])
    hub.trouble("model.safetensors", Trouble(status=503))
    assert (
        refusal(lambda: fetched(resolved, tmp_path / "one", first)).failure.code
        == "EHF-UNAVAILABLE"
    )
    assert partial.stat().st_size == 150_000
    hub.troubles.clear()
    fetched(resolved, tmp_path / "two", options)
    assert hub.asked_for("model.safetensors")[-1].range == "bytes=150000-"
    assert describe(tmp_path / "two") == describe(tiny)


def test_a_server_without_ranges_starts_the_file_again(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    hub.trouble("model.safetensors", Trouble(break_after=100_000, times=1))
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble("model.safetensors", Trouble(no_ranges=True))
    partial = options.cache_dir / "hub/org--tiny" / resolved.commit / "model.safetensors.partial"  # type: ignore[operator]
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"stale")
    seen = fetched(resolved, tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == (resolved.size_bytes, resolved.size_bytes)


def test_a_stale_first_part_is_thrown_away(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    partial = options.cache_dir / "hub/org--tiny" / resolved.commit / "model.safetensors.partial"  # type: ignore[operator]
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"x" * 1000)
    seen = fetched(resolved, tmp_path / "model", options)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == (resolved.size_bytes, resolved.size_bytes)


@pytest.mark.parametrize("path", ["model.safetensors", "config.json"])
def test_bytes_that_are_not_the_listed_ones_are_never_kept(
    hub: HubServer,
    tiny: Path,
    options: SourceOptions,
    repository: Repository,
    tmp_path: Path,
    path: str,
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble(path, Trouble(altered=True))
    found = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert found.code == "EHF-CORRUPT"
    assert f"`{path}`" in found.sentence
    assert not (tmp_path / "model" / path).exists()


def test_a_download_that_never_gets_on_is_given_up(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble("model.safetensors", Trouble(break_after=0))
    found = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert found.code == "EHF-BROKEN"


def test_a_silent_download_times_out(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.trouble("model.safetensors", Trouble(seconds=30))
    quick = replace(options, timeout_seconds=0.1, attempts=1)
    found = refusal(lambda: fetched(resolved, tmp_path / "model", quick)).failure
    assert found.code == "EHF-TIMEOUT"


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
    found = refusal(lambda: fetched(resolved, tmp_path / "model", options)).failure
    assert found.code == "EHF-REVISION"


def test_a_checkpoint_larger_than_the_disk_is_refused_before_it_starts(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    weights = replace(resolved.files[-1], size_bytes=shutil.disk_usage(tmp_path).total * 2)
    hub.requests.clear()
    huge = replace(resolved, files=(weights,))
    found = refusal(lambda: fetched(huge, tmp_path / "model", options)).failure
    assert found.code == "EHF-DISK-FULL"
    assert "free" in found.sentence
    assert hub.requests == []


def test_a_disk_that_fills_up_is_said_and_nothing_is_placed(
    hub: HubServer, tiny: Path, options: SourceOptions, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    script = f"""
import resource, pathlib
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import *
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
options = SourceOptions(hf_endpoint={hub.url!r}, cache_dir=pathlib.Path({str(tmp_path)!r}))
resolved = resolve(CheckpointRepository(source="HF", repo="org/tiny"), token=None, options=options)
try:
    fetch(resolved, pathlib.Path({str(tmp_path / "model")!r}), token=None, options=options,
          on_progress=lambda done, total: None)
except SourceFailure as error:
    print(error.failure.code)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "EHF-DISK-FULL", result.stderr
    assert list((tmp_path / "model").glob("*")) == []


def test_two_builds_fetch_one_commit_at_once(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    hub.requests.clear()
    threads = [
        threading.Thread(target=fetched, args=(resolved, tmp_path / str(number), options))
        for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(describe(tmp_path / str(number)) == describe(tiny) for number in range(3))
    assert len([each for each in hub.requests if "/cdn/" in each.path]) == 1


def test_a_second_build_fetches_nothing_and_pruning_leaves_what_was_placed(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    fetched(resolved, tmp_path / "one", options)
    hub.requests.clear()
    fetched(resolved, tmp_path / "two", options)
    assert hub.requests == []
    assert options.cache_dir is not None
    assert prune(options.cache_dir, 3600) == 0
    assert prune(options.cache_dir, 0) == 1
    assert describe(tmp_path / "two") == describe(tiny)


def test_no_cache_folder_leaves_nothing_beside_the_model(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository, tmp_path: Path
) -> None:
    hub.add("org/tiny", tiny)
    resolved = resolve(repository(), token=None, options=options)
    fetched(resolved, tmp_path / "out" / "model", replace(options, cache_dir=None))
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["model"]


def test_a_file_name_that_leads_outside_is_refused(
    hub: HubServer, tiny: Path, options: SourceOptions, repository: Repository
) -> None:
    hub.add("org/tiny", {**_files(tiny), "../../evil.json": b"{}"})
    found = refusal(lambda: resolve(repository(), token=None, options=options)).failure
    assert found.code == "EHF-NAME"
    assert "`../../evil.json`" in found.sentence


def test_a_training_project_of_the_hosted_product_is_refused_with_what_to_do(
    options: SourceOptions, repository: Repository
) -> None:
    asked = repository("my-project", source="BASETEN_TRAINING")
    found = refusal(lambda: resolve(asked, token=None, options=options)).failure
    assert found.code == "EHS-HOSTED-TRAINING"
    assert "`my-project`" in found.sentence
    assert "`S3`" in (found.hint or "")
    assert "`LOCAL`" in (found.hint or "")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
