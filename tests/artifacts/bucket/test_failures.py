"""What a bucket can refuse, each told apart, in the operator's own values and without a secret."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactFailure, ArtifactStore
from controlplane.artifacts.variables import store_variables
from controlplane.clock import SYSTEM
from tests.artifacts.places import QUICK, BucketPlace
from tests.bucket_server import Trouble
from tests.loopback_server import LoopbackServer, nobody_listens
from tests.manual_clock import ManualClock

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def refusal(bucket: BucketPlace, folder: Path) -> ArtifactFailure:
    with pytest.raises(ArtifactFailure) as caught:
        ArtifactStore.open(
            bucket.url,
            variables=bucket.variables,
            patience=QUICK,
            clock=ManualClock(SYSTEM.now(), sleeping_moves_it=True),
        ).publish(folder, {})
    failure = caught.value.failure
    assert failure.hint
    assert failure.sentence.endswith(".")
    secret = bucket.variables.get("AWS_SECRET_ACCESS_KEY") or SECRET
    assert secret not in str(failure.to_json())
    return caught.value


def _drop_bucket(bucket: BucketPlace) -> None:
    bucket.url = "s3://nowhere/artifacts"


def _other_key(bucket: BucketPlace) -> None:
    bucket.variables["AWS_SECRET_ACCESS_KEY"] = "of-somebody-else"


def _unknown_key(bucket: BucketPlace) -> None:
    bucket.variables["AWS_ACCESS_KEY_ID"] = "AKIAOFSOMEBODYELSE"


def _session_token(bucket: BucketPlace) -> None:
    bucket.variables["AWS_SESSION_TOKEN"] = "ended"


def _half_a_login(bucket: BucketPlace) -> None:
    del bucket.variables["AWS_SECRET_ACCESS_KEY"]


def _no_login(bucket: BucketPlace) -> None:
    _half_a_login(bucket)
    del bucket.variables["AWS_ACCESS_KEY_ID"]


def _broken_login(bucket: BucketPlace) -> None:
    bucket.variables["AWS_SECRET_ACCESS_KEY"] = "two\nlines"


def _region(bucket: BucketPlace) -> None:
    bucket.server.region = "eu-central-1"


def _no_region(bucket: BucketPlace) -> None:
    bucket.variables["AWS_REGION"] = "Frankfurt (Main)"


def _read_only(bucket: BucketPlace) -> None:
    bucket.server.is_read_only = True


def _full(bucket: BucketPlace) -> None:
    bucket.server.is_full = True


def _skewed(bucket: BucketPlace) -> None:
    bucket.server.is_skewed = True


def _web_page(bucket: BucketPlace) -> None:
    for request in ("list", "get", "put"):
        bucket.server.trouble(request, Trouble(status=200, body=b"<html>Sign in</html>"))


def _endpoint(bucket: BucketPlace) -> None:
    bucket.variables["AWS_ENDPOINT_URL"] = "minio.example.com:9000"


CASES: list[tuple[Callable[[BucketPlace], None], str, str]] = [
    (_drop_bucket, "EHA-NO-BUCKET", "`nowhere`"),
    (_other_key, "EHA-LOGIN", "SignatureDoesNotMatch"),
    (_unknown_key, "EHA-LOGIN", "InvalidAccessKeyId"),
    (_session_token, "EHA-LOGIN", "InvalidToken"),
    (_half_a_login, "EHA-LOGIN", "AWS_SECRET_ACCESS_KEY is not set"),
    (_no_login, "EHA-LOGIN", "AWS_ACCESS_KEY_ID is not set"),
    (_broken_login, "EHA-LOGIN", "AWS_SECRET_ACCESS_KEY has characters"),
    (_region, "EHA-REGION", "`eu-central-1`"),
    (_no_region, "EHA-REGION", "`Frankfurt (Main)`"),
    (_read_only, "EHA-DENIED", "AccessDenied"),
    (_full, "EHA-DISK-FULL", "XMinioStorageFull"),
    (_skewed, "EHA-CLOCK", "the clock of this host"),
    (_web_page, "EHA-NOT-A-STORE", "does not answer like an object store"),
    (_endpoint, "EHA-UNSUPPORTED", "`minio.example.com:9000`"),
]


@pytest.mark.parametrize(("harm", "code", "words"), CASES, ids=[each[0].__name__ for each in CASES])
def test_each_refusal_says_what_is_wrong_and_what_to_do(
    bucket: BucketPlace, folder: Path, harm: Callable[[BucketPlace], None], code: str, words: str
) -> None:
    harm(bucket)
    failure = refusal(bucket, folder).failure
    assert failure.code == code
    assert words in failure.sentence


def test_a_store_that_nobody_answers_for_is_named(bucket: BucketPlace, folder: Path) -> None:
    with nobody_listens() as address:
        bucket.variables["AWS_ENDPOINT_URL"] = f"http://{address}"
        failure = refusal(bucket, folder).failure
    assert failure.code == "EHA-OFFLINE"
    assert address in failure.sentence
    assert bucket.url in failure.sentence


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIAEXAMPLE:sekrit@engines/artifacts",
        "s3://engines:443/artifacts",
        "s3:///artifacts",
        "s3://Engines!/x",
        "s3://engines/../other",
    ],
)
def test_an_address_that_names_no_bucket_is_refused_without_its_login(url: str) -> None:
    with pytest.raises(ArtifactFailure) as caught:
        ArtifactStore.open(url, variables={})
    assert caught.value.failure.code == "EHA-UNSUPPORTED"
    assert "s3://bucket/prefix" in (caught.value.failure.hint or "")
    assert "sekrit" not in str(caught.value.failure.to_json())


def test_a_login_may_lie_in_files(tmp_path: Path, bucket: BucketPlace, folder: Path) -> None:
    environment = {"AWS_ENDPOINT_URL": bucket.variables["AWS_ENDPOINT_URL"], "PATH": "/bin"}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        (tmp_path / name).write_text(bucket.variables[name] + "\n")
        environment[f"{name}_FILE"] = str(tmp_path / name)
    bucket.variables = store_variables(environment)
    assert "PATH" not in bucket.variables
    assert bucket.open().publish(folder, {})


def test_a_file_that_should_hold_a_login_and_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactFailure) as caught:
        store_variables({"AWS_SECRET_ACCESS_KEY_FILE": str(tmp_path / "gone")})
    assert caught.value.failure.field == "AWS_SECRET_ACCESS_KEY_FILE"
    assert str(tmp_path / "gone") in caught.value.failure.sentence


def test_what_this_process_has_of_its_own_is_not_mixed_in(
    bucket: BucketPlace, folder: Path, monkeypatch: pytest.MonkeyPatch
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
        "AWS_UNSIGNED_PAYLOAD": "true",
    }
    for name, value in ambient.items():
        monkeypatch.setenv(name, value)
    assert bucket.open().publish(folder, {})
    assert {each.token is None for each in bucket.server.requests} == {False}


@contextmanager
def role_service(login: dict[str, str]) -> Iterator[tuple[str, list[str | None]]]:
    """Give the address of what hands a pod its login, and the tokens that it was asked with."""
    tokens: list[str | None] = []
    values = {
        "AccessKeyId": login["aws_access_key_id"],
        "SecretAccessKey": login["aws_secret_access_key"],
        "Token": "of-the-role",
        "Expiration": "2999-01-01T00:00:00Z",
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(values).encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    with LoopbackServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/role", tokens
        server.shutdown()
        thread.join()


def test_without_keys_the_role_of_the_pod_is_asked(
    bucket: BucketPlace, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = bucket.server.login.secret
    login["aws_session_token"] = "of-the-role"
    endpoint = bucket.variables["AWS_ENDPOINT_URL"]
    # A store of one's own has no roles, so the endpoint of AWS itself stands in here.
    monkeypatch.setattr(
        "controlplane.artifacts.bucket.address._endpoint_of", lambda region: endpoint
    )
    (tmp_path / "token").write_text("of-the-pod")
    with role_service(login) as (address, tokens):
        bucket.variables = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": address,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(tmp_path / "token"),
        }
        assert bucket.open().publish(folder, {})
    assert set(tokens) == {"of-the-pod"}
    failure = refusal(bucket, folder).failure
    assert failure.code == "EHA-LOGIN"
    assert "its role gave none" in failure.sentence
