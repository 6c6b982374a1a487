"""A real push in a real child: to the loopback hub and to moto's S3, and what they refuse."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactFailure, ArtifactStore, Manifest
from controlplane.domain.failures import Failure
from controlplane.sources import SourceFailure
from tests.artifacts.places import FolderPlace, flip_a_byte, other_makers_endpoint
from tests.bucket_server import BucketServer
from tests.hub_contents import Trouble
from tests.hub_server import HubServer
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.events import Events, Progress
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions
from workers.build_steps.push import run
from workers.build_steps.pushing.parcel import MANIFEST_NAME

pytestmark = [
    pytest.mark.process,
    # The hub's client speaks an older way to its HTTP library.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]
TOKEN = "hf_canary_of_the_push"
KEYS = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "canary-of-the-bucket"}
WEIGHTS = b"weights" * 100_000
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "empty.txt": b"",
    "model.safetensors": WEIGHTS,
    "nested/model.safetensors": b"more" * 1000,
}
FAILURES = (ArtifactFailure, SourceFailure, StepFailure)
PRIVATE = "org/private"
BUCKET = "engines"


class Pusher:
    """An artifact in a store, and pushes of it with everything noted that came out of them."""

    def __init__(
        self, folder: Path, options: dict[str, Any], files: dict[str, bytes] = FILES
    ) -> None:
        self.place = FolderPlace(folder / "artifacts")
        self.folder = folder
        self.options = options
        self.progress: list[Progress] = []
        self.log = b""
        source = folder / "source"
        for path, content in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_bytes(content)
        self.digest = ArtifactStore.open(self.place.url).publish(source, {}).content_digest

    @property
    def manifest(self) -> Manifest:
        return ArtifactStore.open(self.place.url).manifest(self.digest)

    def job(self, destination: str, *, private: bool) -> Job:
        order = {
            "content_digest": self.digest,
            "destination": destination,
            "secret_name": "upload",
            "private": private,
            "base_model": "org/base",
            "quantization_type": "fp8",
        }
        return Job(
            build_id="b",
            attempt=1,
            spec={},
            inputs={},
            output_dir=str(self.folder / "output"),
            options=JobOptions.model_validate(
                {"artifact_url": self.place.url, "push": order, **self.options}
            ),
        )

    def push(
        self,
        destination: str,
        *,
        secret: str = TOKEN,
        beat: Callable[[], Verdict] = lambda: Verdict.CONTINUE,
    ) -> StepOutcome:
        self.job(destination, private=True).write(self.folder / "job.json")
        command = StepCommand(
            step="push",
            job_path=self.folder / "job.json",
            lease="push/p/1",
            instance=str(self.folder),
            secrets={"upload": secret},
            environment={"HF_HUB_DISABLE_XET": "1"},
        )
        return run_step(
            command,
            on_progress=self.progress.append,
            on_log=self._note,
            heartbeat=beat,
            heartbeat_seconds=0.1,
        )

    def refusal(
        self, destination: str, *, secret: str | None = TOKEN, private: bool = True
    ) -> Failure:
        """Why a push fails, carried out in this process: a child costs a second of imports."""
        job = self.job(destination, private=private)
        job = job.with_secrets({"upload": secret} if secret else {})
        job.output.mkdir(exist_ok=True)
        with Path(os.devnull).open("wb") as sink, pytest.raises(FAILURES) as found:
            run(job, Events(sink.fileno()))
        failure: Failure = found.value.failure
        assert "{" not in failure.sentence
        return failure

    def _note(self, data: bytes) -> None:
        self.log += data


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


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with other_makers_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def s3(moto: str) -> Any:
    """A client of moto's server, and an empty bucket there."""
    import boto3

    client = boto3.client("s3", endpoint_url=moto, region_name="us-east-1", **KEYS)
    client.create_bucket(Bucket=BUCKET)
    for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=each["Key"])
    return client


@pytest.fixture
def to_bucket(moto: str, tmp_path: Path) -> Pusher:
    return Pusher(tmp_path, {"s3_endpoint": moto})


def content_of(hub: HubServer, repo: str, branch: str = "main") -> dict[str, bytes]:
    repository = hub.repositories[repo]
    return repository.commits[repository.branches[branch]]


def values_of(outcome: StepOutcome, pusher: Pusher) -> dict[str, Any]:
    assert outcome.kind is OutcomeKind.FINISHED, (outcome, pusher.log.decode())
    return outcome.values or {}


def code_of(outcome: StepOutcome) -> str:
    assert outcome.kind is OutcomeKind.FAILED, outcome
    assert outcome.failure is not None
    assert "{" not in outcome.failure.sentence
    return outcome.failure.code


def test_a_repository_gets_every_file_and_a_readme_that_names_the_artifact(
    to_hub: Pusher, hub: HubServer
) -> None:
    told = values_of(to_hub.push("hf://org/new"), to_hub)
    there = content_of(hub, "org/new")
    assert {path: there[path] for path in FILES} == FILES
    assert hub.repositories["org/new"].private
    readme = there["README.md"].decode()
    assert to_hub.digest in readme
    assert "base_model: org/base" in readme
    assert there[MANIFEST_NAME] == to_hub.manifest.to_bytes()
    assert (told["sent_files"], told["skipped_files"]) == (4, 0)
    assert told["commit"] in hub.repositories["org/new"].commits
    total = sum(map(len, FILES.values()))
    assert to_hub.progress[-1] == Progress(done=total, total=total, unit="bytes")


def test_a_second_push_sends_no_large_file_and_makes_no_commit(
    to_hub: Pusher, hub: HubServer
) -> None:
    values_of(to_hub.push(f"hf://{PRIVATE}"), to_hub)
    commits, asked = dict(hub.repositories[PRIVATE].commits), len(hub.requests)
    told = values_of(to_hub.push(f"hf://{PRIVATE}"), to_hub)
    assert told["skipped_files"] == 2
    assert hub.repositories[PRIVATE].commits == commits
    assert not [each for each in hub.requests[asked:] if each.method == "PUT"]
    assert content_of(hub, PRIVATE)["README.md"] == b"mine"


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
    told = [to_hub.log.decode(), str(outcome), (to_hub.folder / "job.json").read_text()]
    assert TOKEN not in "".join(told)
    assert TOKEN in {each.token for each in hub.requests}


def kept(s3: Any, folder: str) -> dict[str, bytes]:
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{folder}/").get("Contents", ())
    return {
        each["Key"].removeprefix(f"{folder}/"): s3.get_object(Bucket=BUCKET, Key=each["Key"])[
            "Body"
        ].read()
        for each in listed
    }


def test_a_bucket_gets_every_file_and_the_manifest(to_bucket: Pusher, s3: Any) -> None:
    told = values_of(to_bucket.push(f"s3://{BUCKET}/fp8", secret=json.dumps(KEYS)), to_bucket)
    assert kept(s3, "fp8") == {**FILES, MANIFEST_NAME: to_bucket.manifest.to_bytes()}
    assert (told["sent_files"], told["skipped_files"]) == (4, 0)
    assert to_bucket.progress[-1].done == to_bucket.progress[-1].total


def test_a_bucket_keeps_what_is_equal_and_loses_a_manifest_of_other_files(
    to_bucket: Pusher, s3: Any
) -> None:
    destination, secret = f"s3://{BUCKET}/again", json.dumps(KEYS)
    values_of(to_bucket.push(destination, secret=secret), to_bucket)
    before = s3.head_object(Bucket=BUCKET, Key="again/model.safetensors")["LastModified"]
    # Of the same size, so that only the digest tells.
    s3.put_object(Bucket=BUCKET, Key="again/config.json", Body=bytes(len(FILES["config.json"])))
    told = values_of(to_bucket.push(destination, secret=secret), to_bucket)
    assert (told["sent_files"], told["skipped_files"]) == (1, 3)
    assert kept(s3, "again")["config.json"] == FILES["config.json"]
    assert s3.head_object(Bucket=BUCKET, Key="again/model.safetensors")["LastModified"] == before
    s3.put_object(Bucket=BUCKET, Key=f"again/{MANIFEST_NAME}", Body=b"of other files")
    weights = next(each for each in to_bucket.manifest.files if each.path == "config.json")
    s3.delete_object(Bucket=BUCKET, Key="again/config.json")
    flip_a_byte_of_small(to_bucket, weights.sha256)
    assert to_bucket.refusal(destination, secret=secret).code.startswith("EHA-")
    assert MANIFEST_NAME not in kept(s3, "again")
    assert "config.json" not in kept(s3, "again")


def test_a_large_file_goes_to_a_bucket_in_parts_and_never_damaged(
    moto: str, s3: Any, tmp_path: Path
) -> None:
    large = Pusher(
        tmp_path, {"s3_endpoint": moto}, {"model.safetensors": bytes(range(256)) * 4 * 20_000}
    )
    destination, secret = f"s3://{BUCKET}/large", json.dumps(KEYS)
    values_of(large.push(destination, secret=secret), large)
    (entry,) = large.manifest.files
    found = s3.head_object(Bucket=BUCKET, Key="large/model.safetensors")
    assert found["ETag"].endswith('-2"')
    assert (found["ContentLength"], found["Metadata"]) == (
        entry.size_bytes,
        {"sha256": entry.sha256},
    )
    assert values_of(large.push(destination, secret=secret), large)["skipped_files"] == 1
    s3.delete_object(Bucket=BUCKET, Key="large/model.safetensors")
    flip_a_byte(large.place, entry.sha256)
    assert large.refusal(destination, secret=secret).code.startswith("EHA-")
    assert set(kept(s3, "large")) == {MANIFEST_NAME}


def test_a_push_to_a_bucket_that_is_cut_off_lacks_its_manifest_and_goes_on(tmp_path: Path) -> None:
    came, goes_on = threading.Event(), threading.Event()

    def hold(key: str) -> None:
        if key.endswith("nested/model.safetensors"):
            came.set()
            goes_on.wait()

    with BucketServer("S3") as server:
        server.buckets[BUCKET], server.pass_put = {}, hold
        pusher = Pusher(tmp_path, {"s3_endpoint": server.endpoint})
        destination, secret = f"s3://{BUCKET}/cut", json.dumps(server.login.secret)
        outcome = pusher.push(
            destination,
            secret=secret,
            beat=lambda: Verdict.CANCEL if came.is_set() else Verdict.CONTINUE,
        )
        assert outcome.kind is OutcomeKind.CANCELLED
        assert f"cut/{MANIFEST_NAME}" not in server.buckets[BUCKET]
        goes_on.set()
        told = values_of(pusher.push(destination, secret=secret), pusher)
        assert told["skipped_files"] >= 3
        assert set(server.buckets[BUCKET]) == {f"cut/{each}" for each in (*FILES, MANIFEST_NAME)}


def flip_a_byte_of_small(pusher: Pusher, sha256: str) -> None:
    key = next(each for each in pusher.place.kept("blobs") if sha256 in each)
    content = bytearray(pusher.place.content(key))
    content[-1] ^= 1
    pusher.place.replace(key, bytes(content))


def test_a_bucket_that_is_not_there_is_named(to_bucket: Pusher, s3: Any) -> None:
    failure = to_bucket.refusal("s3://absent-bucket/fp8", secret=json.dumps(KEYS))
    assert failure.code == "EHU-NOT-FOUND"


@pytest.mark.parametrize(
    ("state", "code"),
    [("is_read_only", "EHU-DENIED"), ("is_full", "EHU-FULL"), (None, "EHU-LOGIN")],
)
def test_what_a_store_refuses_is_said_in_words(
    tmp_path: Path, state: str | None, code: str
) -> None:
    with BucketServer("S3") as server:
        server.buckets[BUCKET] = {}
        pusher = Pusher(tmp_path, {"s3_endpoint": server.endpoint})
        secret = dict(server.login.secret)
        if state:
            setattr(server, state, True)
        else:
            secret["aws_access_key_id"] = "AKIASTRANGER"
        failure = pusher.refusal(f"s3://{BUCKET}/fp8", secret=json.dumps(secret))
    assert failure.code == code, failure
    assert secret["aws_secret_access_key"] not in str(failure)


def test_a_secret_that_is_no_login_is_said(to_bucket: Pusher) -> None:
    assert to_bucket.refusal(f"s3://{BUCKET}/fp8", secret="plain").code == "ES3-SECRET"
