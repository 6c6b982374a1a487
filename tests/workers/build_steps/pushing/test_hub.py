"""Pushes to the loopback hub, and what it refuses."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from tests.artifacts.places import flip_a_byte
from tests.hub_contents import Trouble
from tests.hub_server import HubServer
from tests.workers.build_steps.pushing.pusher import (
    FILES,
    TOKEN,
    WEIGHTS,
    Pusher,
    code_of,
    values_of,
)
from workers.build_steps.child import OutcomeKind, Verdict
from workers.build_steps.events import Progress
from workers.build_steps.pushing.parcel import MANIFEST_NAME

pytestmark = [
    pytest.mark.process,
    # The hub's client speaks an older way to its HTTP library.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]
PRIVATE = "org/private"


@pytest.fixture(autouse=True)
def without_xet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the worker starts the child."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as started:
        started.add(PRIVATE, {"README.md": b"mine"}, private=True, readers={TOKEN}, writers={TOKEN})
        started.add("org/open", {"config.json": b"{}"}, writers={TOKEN})
        started.add("org/others", {"config.json": b"{}"}, readers={"hf_reader"})
        started.owners[TOKEN] = {"org"}
        yield started


@pytest.fixture
def to_hub(hub: HubServer, tmp_path: Path) -> Pusher:
    return Pusher(tmp_path, {"hf_endpoint": hub.url})


def content_of(hub: HubServer, repo: str, branch: str = "main") -> dict[str, bytes]:
    repository = hub.repositories[repo]
    return repository.commits[repository.branches[branch]]


def test_a_repository_gets_every_file_and_a_readme_that_names_the_artifact(
    to_hub: Pusher, hub: HubServer
) -> None:
    values = values_of(to_hub.push("hf://org/new"), to_hub)
    there = content_of(hub, "org/new")
    assert {path: there[path] for path in FILES} == FILES
    assert hub.repositories["org/new"].private
    readme = there["README.md"].decode()
    assert to_hub.digest in readme
    assert "base_model: org/base" in readme
    assert there[MANIFEST_NAME] == to_hub.manifest.to_bytes()
    assert (values["sent_files"], values["skipped_files"]) == (4, 0)
    assert values["commit"] in hub.repositories["org/new"].commits
    total = sum(map(len, FILES.values()))
    assert to_hub.progress[-1] == Progress(done=total, total=total, unit="bytes")


def test_a_second_push_sends_no_large_file_and_makes_no_commit(
    to_hub: Pusher, hub: HubServer
) -> None:
    values_of(to_hub.push(f"hf://{PRIVATE}"), to_hub)
    commits, request = dict(hub.repositories[PRIVATE].commits), len(hub.requests)
    values = values_of(to_hub.push(f"hf://{PRIVATE}"), to_hub)
    assert values["skipped_files"] == 2
    assert hub.repositories[PRIVATE].commits == commits
    assert not [each for each in hub.requests[request:] if each.method == "PUT"]
    assert content_of(hub, PRIVATE)["README.md"] == b"mine"


def test_a_push_over_another_artifact_leaves_nothing_of_it_and_all_that_is_somebodys(
    to_hub: Pusher, hub: HubServer
) -> None:
    to_hub.push_here(f"hf://{PRIVATE}")
    other = {"config.json": b"{}", "one.safetensors": WEIGHTS}
    to_hub.digest = to_hub.publish(other)
    to_hub.push_here(f"hf://{PRIVATE}")
    own = {"README.md": b"mine", MANIFEST_NAME: to_hub.manifest.to_bytes()}
    assert content_of(hub, PRIVATE) == {**other, **own}


def test_a_readme_of_an_earlier_artifact_gives_way_to_one_that_names_this(
    to_hub: Pusher, hub: HubServer
) -> None:
    to_hub.digest = to_hub.publish({"README.md": b"of the first", "config.json": b"{}"})
    to_hub.push_here("hf://org/new")
    assert content_of(hub, "org/new")["README.md"] == b"of the first"
    to_hub.digest = to_hub.publish({"config.json": b"{}"})
    to_hub.push_here("hf://org/new")
    assert to_hub.digest in content_of(hub, "org/new")["README.md"].decode()


def test_room_on_the_disk_is_given_back_file_by_file(
    to_hub: Pusher, monkeypatch: pytest.MonkeyPatch
) -> None:
    holding, commit = [], HfApi.create_commit

    def noted(*arguments: Any, **named: Any) -> Any:
        holding.extend(_bytes_of_deleted_files_open_below(to_hub.folder))
        return commit(*arguments, **named)

    monkeypatch.setattr(HfApi, "create_commit", noted)
    to_hub.push_here(f"hf://{PRIVATE}")
    assert sorted(holding) == [0, len(FILES["config.json"])]


def _bytes_of_deleted_files_open_below(folder: Path) -> Iterator[int]:
    for opened in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            name = str(opened.readlink())
            if name.startswith(str(folder)) and name.endswith(" (deleted)"):
                yield opened.stat().st_size


def test_a_branch_takes_the_push_and_main_stays(to_hub: Pusher, hub: HubServer) -> None:
    before = content_of(hub, PRIVATE)
    hub.repositories[PRIVATE].branches["fp8"] = hub.repositories[PRIVATE].branches["main"]
    values_of(to_hub.push(f"hf://{PRIVATE}@fp8"), to_hub)
    assert content_of(hub, PRIVATE) == before
    assert content_of(hub, PRIVATE, "fp8")["model.safetensors"] == WEIGHTS


def test_a_file_that_the_hub_wants_in_parts_arrives_whole(to_hub: Pusher, hub: HubServer) -> None:
    hub.part_bytes = 300_000
    values_of(to_hub.push(f"hf://{PRIVATE}"), to_hub)
    assert content_of(hub, PRIVATE)["model.safetensors"] == WEIGHTS
    assert len(hub.parts) == 3
    assert to_hub.progress[-1].done == to_hub.progress[-1].total


@pytest.mark.parametrize(
    ("destination", "secret", "trouble", "code"),
    [
        ("hf://org/new", "hf_stranger", None, "EHU-LOGIN"),
        ("hf://elsewhere/new", TOKEN, None, "EHU-DENIED"),
        ("hf://org/others", TOKEN, None, "EHU-DENIED"),
        (f"hf://{PRIVATE}@absent", TOKEN, None, "EHU-NOT-FOUND"),
        ("hf://org/open", TOKEN, None, "EHU-PUBLIC"),
        ("hf://org/new", "two words", None, "EHU-NO-TOKEN"),
        ("hf://org/new", None, None, "EHU-NO-SECRET"),
        (f"hf://{PRIVATE}", TOKEN, ("commit", Trouble(status=413)), "EHU-FULL"),
        (f"hf://{PRIVATE}", TOKEN, ("blob", Trouble(status=507)), "EHU-FULL"),
        (f"hf://{PRIVATE}", TOKEN, ("info", Trouble(status=429)), "EHU-RATE-LIMIT"),
        (f"hf://{PRIVATE}", TOKEN, ("commit", Trouble(status=500)), "EHU-UNAVAILABLE"),
    ],
)
def test_what_the_hub_refuses_is_said_in_words(
    to_hub: Pusher,
    hub: HubServer,
    destination: str,
    secret: str | None,
    trouble: tuple[str, Trouble] | None,
    code: str,
) -> None:
    if trouble:
        hub.trouble(*trouble)
    # A repository of others is public: what is asked for there is the right to write.
    private = destination != "hf://org/others"
    failure = to_hub.refusal(destination, secret=secret, private=private)
    assert failure.code == code, failure
    assert any(each in failure.sentence for each in (destination, "`upload`")), failure


def test_a_hub_without_room_for_a_large_file_is_said_to_be_full(
    to_hub: Pusher, hub: HubServer
) -> None:
    hub.blob_error = "Private repository storage limit reached"
    failure = to_hub.refusal(f"hf://{PRIVATE}")
    assert (failure.code, "storage limit" in failure.sentence) == ("EHU-FULL", True)
    hub.blob_error = "not today"
    assert to_hub.refusal(f"hf://{PRIVATE}").code == "EHU-UNAVAILABLE"


def test_a_hub_that_is_away_is_named(tmp_path: Path) -> None:
    away = Pusher(tmp_path, {"hf_endpoint": "http://127.0.0.1:9"})
    assert away.refusal("hf://org/new").code == "EHU-OFFLINE"


def test_a_damaged_file_never_leaves(to_hub: Pusher, hub: HubServer) -> None:
    weights = next(each for each in to_hub.manifest.files if each.path == "model.safetensors")
    flip_a_byte(to_hub.place, weights.sha256)
    assert to_hub.refusal(f"hf://{PRIVATE}").code.startswith("EHA-")
    assert set(content_of(hub, PRIVATE)) == {"README.md"}
    assert weights.sha256 not in hub.blobs


def test_a_push_that_is_cut_off_shows_nothing_and_goes_on_where_it_was(
    to_hub: Pusher, hub: HubServer
) -> None:
    weights = next(each for each in to_hub.manifest.files if each.path == "model.safetensors")

    def beat() -> Verdict:
        return Verdict.CANCEL if hub.blob_is_held.is_set() else Verdict.CONTINUE

    hub.holds_blobs_after = 1
    outcome = to_hub.push(f"hf://{PRIVATE}", beat=beat)
    assert (outcome.kind, set(hub.blobs)) == (OutcomeKind.CANCELLED, {weights.sha256})
    assert set(content_of(hub, PRIVATE)) == {"README.md"}
    hub.holds_blobs_after = None
    puts = len([each for each in hub.requests if each.method == "PUT"])
    values_of(to_hub.push(f"hf://{PRIVATE}"), to_hub)
    again = [each.path for each in hub.requests if each.method == "PUT"][puts:]
    assert f"/lfs/{weights.sha256}" not in again
    assert len(again) == 1
    assert {path: content_of(hub, PRIVATE)[path] for path in FILES} == FILES


def test_no_secret_is_in_the_log_or_in_the_job(to_hub: Pusher, hub: HubServer) -> None:
    hub.trouble("commit", Trouble(status=403, body=json.dumps({"error": TOKEN}).encode()))
    outcome = to_hub.push(f"hf://{PRIVATE}")
    assert code_of(outcome) == "EHU-DENIED"
    reports = [to_hub.log.decode(), str(outcome), (to_hub.folder / "job.json").read_text()]
    assert TOKEN not in "".join(reports)
    assert TOKEN in {each.token for each in hub.requests}
