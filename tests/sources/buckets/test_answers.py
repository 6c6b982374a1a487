"""What a store answers when it does not give the files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bucket_server import Trouble
from tests.loopback_server import nobody_listens
from tests.sources.buckets.asking import WEIGHTS, Asking, only_s3


def test_a_store_out_of_reach_is_offline(asking: Asking) -> None:
    with nobody_listens() as place:
        away = f"http://{place}"
        asking.options = replace(
            asking.options, s3_endpoint=away, gcs_endpoint=away, azure_endpoint=away
        )
        failure = asking.refusal("OFFLINE").failure
    assert away in failure.sentence


def test_a_silent_store_times_out(asking: Asking, tmp_path: Path) -> None:
    resolved = asking.resolve()
    asking.options = replace(asking.options, timeout_seconds=0.1, attempts=1)
    asking.server.trouble("list", Trouble(silent=True))
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
    assert asking.clock.slept == [1.0, 2.0]
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
    failure = asking.refusal("REGION").failure
    assert "`eu-west-1`" in failure.sentence
    assert "`aws_region` in the secret `bucket_login` to `eu-west-1`" in (failure.hint or "")
    asking.secret = json.dumps({**asking.server.login.secret, "aws_region": "eu-west-1"})
    assert asking.resolve()
