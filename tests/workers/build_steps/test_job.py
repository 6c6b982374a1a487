"""A job as it is stored for its step."""

import json
from datetime import date
from pathlib import Path

import pytest

from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.secret_expiries import SecretExpiry
from controlplane.domain.remote_code import CodeGrants, LiveGrant
from workers.build_steps.job import Job, UnknownJobFormat, read_job
from workers.build_steps.options import JobOptions

OPTIONS = JobOptions(
    local_checkpoint_roots=("/a", "/b"),
    cache_dir=Path("/cache"),
    remote_code=CodeGrants(live=(LiveGrant(commit="c1", by="ada", at="2026-11-29T08:00:00Z"),)),
    secret_names=frozenset({"hf_model"}),
    secret_expiries=(SecretExpiry(name="hf_model", on=date(2026, 12, 1), days_left=2),),
    devices=(DeviceOffer(kind="H100", count=2, memory_bytes=80),),
)


def job() -> Job:
    return Job(
        build_id="b1",
        attempt=2,
        spec={"trt_llm": {}},
        inputs={"fetch": "/fetch"},
        output_dir="/out",
        options=OPTIONS,
        secrets={"hf_model": "a-token"},
        store_variables={"AWS_SECRET_ACCESS_KEY": "a-key"},
    )


def test_a_stored_job_is_read_as_it_was_without_its_secrets(tmp_path: Path) -> None:
    job().write(tmp_path / "job.json")
    text = (tmp_path / "job.json").read_text()
    assert "a-token" not in text + repr(job())
    assert "a-key" not in text + repr(job())
    assert read_job(tmp_path / "job.json") == job().with_secrets({}).with_store_variables({})


def test_fields_of_a_newer_release_are_ignored(tmp_path: Path) -> None:
    job().write(tmp_path / "job.json")
    stored = json.loads((tmp_path / "job.json").read_text())
    stored["options"]["colour"] = stored["colour"] = "blue"
    (tmp_path / "job.json").write_text(json.dumps(stored))
    assert read_job(tmp_path / "job.json").options == OPTIONS


def test_a_job_of_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text('{"format": 99}')
    with pytest.raises(UnknownJobFormat, match="99"):
        read_job(tmp_path / "job.json")


def test_sources_have_their_own_defaults_where_a_job_says_nothing() -> None:
    sources = OPTIONS.sources()
    assert sources.local_checkpoint_roots == ("/a", "/b")
    assert sources.hf_endpoint == "https://huggingface.co"
    assert sources.s3_region == "us-east-1"
