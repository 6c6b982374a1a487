"""Logins of buckets: used, refused, and never taken from elsewhere."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from tests.sources.buckets.asking import Asking, only_azure, only_gcs, only_s3


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
    failure = asking.refusal("DENIED").failure
    assert "a request without a login" in failure.sentence
    assert "runtime_secret_name" in (failure.hint or "")


def test_files_that_may_be_listed_and_not_read_are_found_before_the_download(
    asking: Asking,
) -> None:
    asking.server.unreadable.add("llama/v1/config.json")
    failure = asking.refusal("DENIED").failure
    assert "the login in secret `bucket_login`" in failure.sentence
    assert (failure.field or "").endswith("runtime_secret_name")


def test_a_key_that_the_store_does_not_accept_is_told_from_one_without_rights(
    asking: Asking,
) -> None:
    name = {"S3": "aws_secret_access_key", "GCS": "client_email", "AZURE": "account_key"}
    stranger = base64.b64encode(b"another key").decode()
    asking.secret = json.dumps({**asking.server.login.secret, name[asking.server.source]: stranger})
    asking.refusal("KEY")


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
        failure = asking.refusal("SECRET").failure
        assert "sekrit" not in str(failure.to_json())
        assert "evil" not in str(failure.to_json())
        assert "`bucket_login`" in failure.sentence
        reasons.add(failure.sentence)
    assert len(reasons) >= 4
    assert asking.server.requests == []
