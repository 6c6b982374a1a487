"""The three kinds of bucket, each asked by its real client on the loopback."""

import base64
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import describe
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
from controlplane.sources.cache import commit_folder
from tests.bucket_server import BucketServer, Trouble

SCHEMES = {"S3": "s3", "GCS": "gs", "AZURE": "az"}
PREFIXES = {"S3": "ES3", "GCS": "EGC", "AZURE": "EAZ"}
WEIGHTS = "llama/v1/model.safetensors"


def _cached(asking: "Asking", resolved: Resolved, name: str) -> Path:
    assert asking.options.cache_dir is not None
    return commit_folder(asking.options.cache_dir, resolved) / name


class Asking:
    """One store with the tiny checkpoint in `weights/llama/v1`, and what is asked of it."""

    def __init__(self, server: BucketServer, files: dict[str, bytes], cache: Path) -> None:
        self.server = server
        self.files = files
        self.secret: str | None = server.secret
        self.options = SourceOptions(
            s3_endpoint=server.endpoint,
            gcs_endpoint=server.endpoint,
            azure_endpoint=server.endpoint,
            azure_account="weightsaccount",
            cache_dir=cache,
            timeout_seconds=0.5,
            attempts=3,
            backoff_seconds=0.01,
        )
        self.checkpoint = self.named("weights/llama/v1")
        server.put_files("weights", "llama/v1", files)

    @property
    def prefix(self) -> str:
        return PREFIXES[self.server.source]

    def named(self, path: str) -> CheckpointRepository:
        return CheckpointRepository.model_validate(
            {
                "source": self.server.source,
                "repo": f"{SCHEMES[self.server.source]}://{path}",
                "runtime_secret_name": "bucket_login",
            }
        )

    def resolve(self, **changes: Any) -> Resolved:
        asked = {"token": self.secret, "options": self.options, **changes}
        return resolve(self.checkpoint, **asked)

    def fetch(self, destination: Path, resolved: Resolved | None = None) -> list[int]:
        seen: list[int] = []
        files = fetch(
            resolved or self.resolve(),
            destination,
            token=self.secret,
            options=self.options,
            on_progress=lambda done, total: seen.append(done),
        )
        assert files == describe(destination)
        return seen

    def refusal(self, code: str, call: Any = None) -> SourceFailure:
        with pytest.raises(SourceFailure) as caught:
            (call or self.resolve)()
        found = caught.value.failure
        assert found.code == f"{self.prefix}-{code}"
        assert found.hint
        assert found.sentence.endswith(".")
        for name in ("aws_secret_access_key", "private_key", "account_key"):
            value = self.server.login.secret.get(name)
            assert value is None or value not in str(found.to_json())
        return caught.value


@pytest.fixture(scope="session")
def files(tiny: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in tiny.iterdir()}


@pytest.fixture(params=SCHEMES)
def asking(
    request: pytest.FixtureRequest, files: dict[str, bytes], tmp_path: Path
) -> Iterator[Asking]:
    with BucketServer(request.param) as server:
        yield Asking(server, files, tmp_path / "cache")


only_s3 = pytest.mark.parametrize("asking", ["S3"], indirect=True)
only_gcs = pytest.mark.parametrize("asking", ["GCS"], indirect=True)
only_azure = pytest.mark.parametrize("asking", ["AZURE"], indirect=True)


def test_a_folder_is_pinned_by_its_listing_and_fetched(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    assert resolved.commit.startswith("listing-")
    seen = asking.fetch(tmp_path / "model", resolved)
    assert describe(tmp_path / "model") == describe(tiny)
    assert seen[-1] == resolved.size_bytes
    assert asking.resolve(commit=resolved.commit) == resolved


def test_a_listing_of_many_pages_is_read_once_and_neighbours_are_left_alone(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    asking.server.page_size = 3
    asking.server.put("weights", "llama/v10/config.json", b"{}")
    asking.server.put("weights", "llama/v1/", b"")
    asking.server.put("weights", "llama/v1/README.md", b"# card")
    asking.server.put("weights", "llama/v1/pytorch_model.bin", b"pickle")
    asking.server.put("weights", "llama/v1/1_Pooling/config.json", b"{}")
    asking.fetch(tmp_path / "model")
    lists = [each for each in asking.server.requests if each.path.endswith("/weights")]
    assert len(lists) == 4
    found = {each.path for each in describe(tmp_path / "model")}
    assert found == {each.path for each in describe(tiny)} | {"1_Pooling/config.json"}


def test_the_whole_bucket_may_be_the_checkpoint(asking: Asking, tiny: Path, tmp_path: Path) -> None:
    for name, content in asking.files.items():
        asking.server.put("onlymodel", name, content)
    asking.checkpoint = asking.named("onlymodel")
    asking.fetch(tmp_path / "model")
    assert describe(tmp_path / "model") == describe(tiny)


def test_facts_come_through_ranges_and_equal_those_of_the_fetched_folder(
    asking: Asking, tmp_path: Path
) -> None:
    facts = read_facts(asking.checkpoint, token=asking.secret, options=asking.options)
    ranges = [each.range for each in asking.server.asked_for(WEIGHTS)]
    assert ranges == ["bytes=0-65535"]
    resolved = asking.resolve()
    asking.fetch(tmp_path / "model", resolved)
    assert facts == folder_facts(tmp_path / "model", commit=resolved.commit)
    assert facts.weight_bytes == 4 * (facts.parameters or 0)


def test_a_public_bucket_needs_no_login_and_never_sees_the_token_for_the_hub(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    asking.server.public.add("weights")
    asking.checkpoint = asking.checkpoint.model_copy(
        update={"runtime_secret_name": "hf_access_token"}
    )
    asking.secret = "hf_the_token_for_the_hub"
    asking.fetch(tmp_path / "model")
    assert describe(tmp_path / "model") == describe(tiny)
    assert {each.token for each in asking.server.requests} == {None}


def test_a_private_bucket_without_a_login_says_which_secret_to_store(asking: Asking) -> None:
    asking.secret = None
    found = asking.refusal("DENIED").failure
    assert "a request without a login" in found.sentence
    assert "runtime_secret_name" in (found.hint or "")


def test_files_that_may_be_listed_and_not_read_are_found_before_the_download(
    asking: Asking,
) -> None:
    asking.server.unreadable.add("llama/v1/config.json")
    found = asking.refusal("DENIED").failure
    assert "the login in secret `bucket_login`" in found.sentence
    assert (found.field or "").endswith("runtime_secret_name")


def test_a_key_that_the_store_does_not_accept_is_told_from_one_without_rights(
    asking: Asking,
) -> None:
    name = {"S3": "aws_secret_access_key", "GCS": "client_email", "AZURE": "account_key"}
    stranger = base64.b64encode(b"another key").decode()
    asking.secret = json.dumps({**asking.server.login.secret, name[asking.server.source]: stranger})
    asking.refusal("KEY")


def test_a_missing_bucket_and_an_empty_path_are_told_apart(asking: Asking) -> None:
    asking.checkpoint = asking.named("nowhere/llama")
    asking.refusal("NO-BUCKET")
    asking.checkpoint = asking.named("weights/Llama/v1")
    assert "capitals" in (asking.refusal("NOT-FOUND").failure.hint or "")


def test_a_folder_above_the_checkpoint_is_no_checkpoint(asking: Asking) -> None:
    asking.checkpoint = asking.named("weights/llama")
    asking.refusal("NOT-A-CHECKPOINT")


@pytest.mark.parametrize(
    "path", ["UPPER_case/x", "weights/../x", "we", "weights//x", "weights/a?b", "weights/%2e\n"]
)
def test_a_place_that_cannot_be_is_refused_before_anything_is_asked(
    asking: Asking, path: str
) -> None:
    asking.checkpoint = asking.named(path)
    asking.refusal("URI")
    assert asking.server.requests == []


def test_files_that_changed_since_they_were_pinned_are_not_fetched(
    asking: Asking, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    asking.server.put("weights", WEIGHTS, asking.files["model.safetensors"][::-1])
    asking.refusal("CHANGED", lambda: asking.resolve(commit=resolved.commit))
    found = asking.refusal("CHANGED", lambda: asking.fetch(tmp_path / "model", resolved))
    assert "another one now" in found.failure.sentence
    assert not (tmp_path / "model/model.safetensors").exists()


def test_a_file_that_is_gone_in_between_is_said(asking: Asking, tmp_path: Path) -> None:
    resolved = asking.resolve()
    del asking.server.buckets["weights"][WEIGHTS]
    asking.refusal("CHANGED", lambda: asking.fetch(tmp_path / "model", resolved))


def test_a_broken_download_goes_on_where_it_stopped(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    asking.server.trouble(WEIGHTS, Trouble(break_after=100_000, times=3))
    asking.fetch(tmp_path / "model", resolved)
    ranges = [each.range for each in asking.server.asked_for(WEIGHTS)]
    assert ranges == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_download_goes_on_in_the_next_build(asking: Asking, tiny: Path, tmp_path: Path) -> None:
    resolved = asking.resolve()
    asking.fetch(tmp_path / "first", replace(resolved, files=resolved.files[:1]))
    partial = _cached(asking, resolved, "model.safetensors.partial")
    partial.write_bytes(asking.files["model.safetensors"][:150_000])
    asking.server.trouble(WEIGHTS, Trouble(break_after=0))
    asking.refusal("BROKEN", lambda: asking.fetch(tmp_path / "one", resolved))
    assert partial.stat().st_size == 150_000
    asking.server.troubles.clear()
    asking.fetch(tmp_path / "two", resolved)
    assert asking.server.asked_for(WEIGHTS)[-1].range == "bytes=150000-"
    assert describe(tmp_path / "two") == describe(tiny)


def test_a_second_build_fetches_nothing_and_unused_downloads_are_pruned(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    asking.fetch(tmp_path / "one", resolved)
    asking.server.requests.clear()
    asking.fetch(tmp_path / "two", resolved)
    assert asking.server.requests == []
    assert asking.options.cache_dir is not None
    assert prune(asking.options.cache_dir, 3600) == 0
    assert prune(asking.options.cache_dir, 0) == 1
    assert describe(tmp_path / "two") == describe(tiny)


@pytest.mark.parametrize("asking", ["S3", "GCS"], indirect=True)
def test_bytes_that_are_not_the_listed_ones_are_never_kept(asking: Asking, tmp_path: Path) -> None:
    resolved = asking.resolve()
    asking.server.trouble(WEIGHTS, Trouble(altered=True))
    found = asking.refusal("CORRUPT", lambda: asking.fetch(tmp_path / "model", resolved))
    assert "md5" in found.failure.sentence
    assert not (tmp_path / "model/model.safetensors").exists()


def test_etags_that_are_no_digests_are_not_taken_for_them(
    asking: Asking, tiny: Path, tmp_path: Path
) -> None:
    for number, (name, content) in enumerate(asking.files.items()):
        asking.server.put("weights", f"llama/v1/{name}", content, etag=f"{number:032x}")
    asking.fetch(tmp_path / "model")
    assert describe(tmp_path / "model") == describe(tiny)


def test_a_store_out_of_reach_is_offline(asking: Asking) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{unused.getsockname()[1]}"
        asking.options = replace(
            asking.options, s3_endpoint=away, gcs_endpoint=away, azure_endpoint=away
        )
        found = asking.refusal("OFFLINE").failure
    assert away in found.sentence


def test_a_silent_store_times_out(asking: Asking, tmp_path: Path) -> None:
    resolved = asking.resolve()
    asking.options = replace(asking.options, timeout_seconds=0.1, attempts=1)
    asking.server.trouble("list", Trouble(seconds=30))
    asking.refusal("TIMEOUT")
    asking.server.trouble(WEIGHTS, Trouble(break_after=0, stall=True))
    asking.refusal("TIMEOUT", lambda: asking.fetch(tmp_path / "model", resolved))


@pytest.mark.parametrize(
    ("status", "code"), [(429, "RATE-LIMIT"), (503, "UNAVAILABLE"), (500, "UNAVAILABLE")]
)
def test_a_store_in_trouble_is_asked_again_and_then_named(
    asking: Asking, status: int, code: str
) -> None:
    asking.server.trouble("list", Trouble(status=status, times=2))
    assert asking.resolve()
    asking.server.trouble("list", Trouble(status=status))
    asking.refusal(code)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (503, b"<Error><Code>SlowDown</Code></Error>", "RATE-LIMIT"),
        (400, b"<Error><Code>ExpiredToken</Code></Error>", "EXPIRED"),
        (403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>", "CLOCK"),
        (403, b"<Error><Code>InvalidObjectState</Code></Error>", "ARCHIVED"),
        (301, b"<Error><Code>PermanentRedirect</Code></Error>", "REGION"),
        (200, b"<!doctype html><html><meta charset=utf-8>Sign in</html>", "NOT-A-STORE"),
        (200, b"hello", "NOT-A-STORE"),
    ],
)
def test_the_answers_of_a_store_are_told_apart(
    asking: Asking, status: int, body: bytes, code: str
) -> None:
    asking.options = replace(asking.options, attempts=1)
    asking.server.trouble("list", Trouble(status=status, body=body))
    asking.refusal(code)


@only_s3
def test_a_bucket_in_another_region_names_it(asking: Asking) -> None:
    asking.server.region = "eu-west-1"
    found = asking.refusal("REGION").failure
    assert "`eu-west-1`" in found.sentence
    assert "`aws_region` in the secret `bucket_login` to `eu-west-1`" in (found.hint or "")
    asking.secret = json.dumps({**asking.server.login.secret, "aws_region": "eu-west-1"})
    assert asking.resolve()


@only_s3
def test_a_session_token_is_sent_along(asking: Asking) -> None:
    asking.server.login.secret["aws_session_token"] = "session-token-of-a-role"
    asking.refusal("KEY")
    asking.secret = asking.server.secret
    assert asking.resolve()


@only_azure
def test_the_storage_account_comes_from_the_secret_or_the_setting(asking: Asking) -> None:
    key = json.dumps({"account_key": asking.server.login.secret["account_key"]})
    assert asking.resolve(token=key)
    asking.options = replace(asking.options, azure_account=None)
    assert asking.resolve()
    asking.secret = key
    assert "AZURE_ACCOUNT" in (asking.refusal("NO-ACCOUNT").failure.hint or "")


def test_what_the_workers_own_environment_says_of_logins_is_not_used(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    ambient = {
        "AWS_ACCESS_KEY_ID": "AKIAOFTHEMACHINE",
        "AWS_SECRET_ACCESS_KEY": "of-the-machine",
        "AWS_SESSION_TOKEN": "of-the-machine",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_REGION": "eu-west-1",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
        "AWS_SKIP_SIGNATURE": "true",
        "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere",
        "GOOGLE_BASE_URL": "http://127.0.0.1:9",
        "GOOGLE_SKIP_SIGNATURE": "true",
        "AZURE_STORAGE_ACCOUNT_NAME": "othername",
        "AZURE_STORAGE_ACCOUNT_KEY": "AAAA",
        "AZURE_STORAGE_SAS_KEY": "a=b",
        "AZURE_STORAGE_TOKEN": "of-the-machine",
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURE_SKIP_SIGNATURE": "true",
    }
    for name, value in ambient.items():
        monkeypatch.setenv(name, value)
    assert asking.resolve()
    asking.secret = None
    asking.server.requests.clear()
    asking.refusal("DENIED")
    assert {each.token for each in asking.server.requests} == {None}


@only_gcs
def test_a_contradicting_environment_is_named(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/nowhere")
    assert "GOOGLE_" in (asking.refusal("SETUP").failure.hint or "")


_WRONG = {
    "S3": [
        {"aws_access_key_id": "AKIA1"},
        {"aws_secret_access_key": "sekrit-value"},
        {"aws_access_key_id": 7, "aws_secret_access_key": "sekrit-value"},
        {"aws_access_key_id": "AKIA1", "aws_secret_access_key": "sekrit-value\nx: y"},
        {"aws_access_key_id": "A", "aws_secret_access_key": "b", "aws_region": "evil.host/"},
    ],
    "GCS": [
        {"client_email": "a@b.c", "private_key_id": "1"},
        {"client_email": "a@b.c", "private_key_id": "1", "private_key": "sekrit-value"},
    ],
    "AZURE": [
        {"account_name": "weightsaccount"},
        {"account_key": "sekrit-value!"},
        {"account_key": "AAAA", "account_name": "evil.host/"},
    ],
}


def test_a_secret_in_another_form_is_refused_without_showing_it(asking: Asking) -> None:
    wrong = ["hf_sekrit-value", '["sekrit-value"]', '{"sekrit-value"', ""]
    wrong += [json.dumps(each) for each in _WRONG[asking.server.source]]
    reasons = set()
    for asking.secret in wrong:
        found = asking.refusal("SECRET").failure
        assert "sekrit" not in str(found.to_json())
        assert "evil" not in str(found.to_json())
        assert "`bucket_login`" in found.sentence
        reasons.add(found.sentence)
    assert len(reasons) >= 4
    assert asking.server.requests == []


def test_a_checkpoint_larger_than_the_disk_is_refused_before_it_starts(
    asking: Asking, tmp_path: Path
) -> None:
    resolved = asking.resolve()
    huge = replace(resolved, files=(replace(resolved.files[0], size_bytes=2**60),))
    asking.server.requests.clear()
    asking.refusal("DISK-FULL", lambda: asking.fetch(tmp_path / "model", huge))
    assert asking.server.requests == []
