"""Our S3 source against a server that neither we nor the client's authors wrote."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources import SourceFailure, SourceOptions, fetch, read_facts, resolve

SECRET = '{"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "example"}'


@pytest.fixture(scope="module")
def endpoint(tiny: Path) -> Iterator[str]:
    import boto3  # here, since the two take a second
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name="us-east-1",
        aws_access_key_id="AKIAEXAMPLE",
        aws_secret_access_key="example",
    )
    client.create_bucket(Bucket="weights")
    for path in tiny.iterdir():
        client.put_object(Bucket="weights", Key=f"llama/v1/{path.name}", Body=path.read_bytes())
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def options(endpoint: str, tmp_path: Path) -> SourceOptions:
    return SourceOptions(s3_endpoint=endpoint, cache_dir=tmp_path / "cache", attempts=2)


def named(path: str) -> CheckpointRepository:
    return CheckpointRepository.model_validate(
        {"source": "S3", "repo": f"s3://{path}", "runtime_secret_name": "bucket_login"}
    )


def test_a_checkpoint_comes_whole_from_another_makers_server(
    options: SourceOptions, tiny: Path, tmp_path: Path
) -> None:
    request = named("weights/llama/v1")
    resolved = resolve(request, token=SECRET, options=options)
    assert all(file.md5 for file in resolved.files)
    fetch(
        resolved,
        tmp_path / "model",
        token=SECRET,
        options=options,
        on_progress=lambda done, total: None,
    )
    assert describe(tmp_path / "model") == describe(tiny)
    assert read_facts(request, token=SECRET, options=options).commit == resolved.commit


def test_another_makers_refusals_mean_the_same(options: SourceOptions, tmp_path: Path) -> None:
    def code(path: str) -> str:
        with pytest.raises(SourceFailure) as caught:
            resolve(named(path), token=SECRET, options=options)
        return caught.value.failure.code

    assert code("nowhere/llama") == "ES3-NO-BUCKET"
    assert code("weights/lama") == "ES3-NOT-FOUND"
    resolved = resolve(named("weights/llama/v1"), token=SECRET, options=options)
    files = tuple(replace(file, etag='"0000"') for file in resolved.files)
    with pytest.raises(SourceFailure) as caught:
        fetch(
            replace(resolved, files=files),
            tmp_path / "model",
            token=SECRET,
            options=options,
            on_progress=lambda done, total: None,
        )
    assert caught.value.failure.code == "ES3-CHANGED"
