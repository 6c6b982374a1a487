"""The step `fetch` as a real child, from every source that is not the hub or a folder."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.artifacts import describe
from tests.archive_server import ArchiveServer, packed
from tests.bucket_server import BucketServer, Trouble
from tests.workers.build_steps.supervising import Supervisor, publish, spec_of
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, Verdict
from workers.build_steps.processes import environment

pytestmark = pytest.mark.process

SCHEMES = {"S3": "s3", "GCS": "gs", "AZURE": "az"}
of_one_store = pytest.mark.parametrize(
    "server",
    ["S3", *(pytest.param(each, marks=pytest.mark.long) for each in ("GCS", "AZURE"))],
    indirect=True,
)
"""What tests/sources/buckets says of each of them without a step."""
SECRET_FIELDS = ("aws_secret_access_key", "private_key", "account_key")
WEIGHTS = "llama/v1/model.safetensors"


@pytest.fixture(params=SCHEMES)
def server(request: pytest.FixtureRequest, tiny: Path) -> Iterator[BucketServer]:
    with BucketServer(request.param) as bucket_server:
        bucket_server.put_files(
            "weights", "llama/v1", {p.name: p.read_bytes() for p in tiny.iterdir()}
        )
        yield bucket_server


@pytest.fixture
def job(supervisor: Supervisor, server: BucketServer) -> Path:
    supervisor.options = {
        "s3_endpoint": server.endpoint,
        "gcs_endpoint": server.endpoint,
        "azure_endpoint": server.endpoint,
        "cache_dir": str(supervisor.folder / "cache"),
        "timeout_seconds": 60,
        "attempts": 2,
        "backoff_seconds": 0.05,
    }
    return supervisor.job("fetch", bucket_spec(server.source))


def bucket_spec(source: str) -> dict[str, object]:
    place = {
        "source": source,
        "repo": f"{SCHEMES[source]}://weights/llama/v1",
        "runtime_secret_name": "bucket_login",
    }
    return spec_of("", checkpoint_repository=place)


def test_a_bucket_is_fetched_with_a_secret_that_nobody_else_sees(
    supervisor: Supervisor, server: BucketServer, job: Path, tiny: Path
) -> None:
    secrets = {"bucket_login": server.secret}
    hidden = [server.login.secret[name] for name in SECRET_FIELDS if name in server.login.secret]
    server.trouble(WEIGHTS, Trouble(break_after=100_000, stall=True, times=1))
    seen: list[str] = []

    def look_and_then_go_on() -> Verdict:
        if server.asked_for(WEIGHTS):
            for each in supervisor.marked():
                command = Path(f"/proc/{each.pid}/cmdline").read_text()
                seen.append(command + str(environment(each.pid)))
            server.stopping.set()  # lets the stalled answer end
        return Verdict.CONTINUE

    outcome = supervisor.run(supervisor.command("fetch", job, secrets=secrets), look_and_then_go_on)
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    final = publish(supervisor, "fetch")
    assert describe(final / "model") == describe(tiny)
    assert outputs.read(final).values["commit"].startswith("listing-")
    assert seen
    everything = [*seen, supervisor.log.decode(), json.dumps(outcome.values)]
    everything += [
        path.read_bytes().decode(errors="replace")
        for path in supervisor.folder.rglob("*")
        if path.is_file()
    ]
    for value in hidden:
        forms = (value, json.dumps(value)[1:-1], value.splitlines()[-2] if "\n" in value else value)
        assert not any(form in text for form in forms for text in everything)


@of_one_store
def test_a_bucket_fetch_that_was_cancelled_goes_on_where_it_stopped(
    supervisor: Supervisor, server: BucketServer, job: Path
) -> None:
    command = supervisor.command("fetch", job, secrets={"bucket_login": server.secret})
    server.trouble(WEIGHTS, Trouble(break_after=200_000, times=1, stall=True))

    def cancel_in_the_middle() -> Verdict:
        partial = list((supervisor.folder / "cache").rglob("model.safetensors.partial"))
        # The last bytes may still lie in a buffer of the child.
        there = bool(partial) and partial[0].stat().st_size >= 180_000
        return Verdict.CANCEL if there else Verdict.CONTINUE

    assert supervisor.run(command, cancel_in_the_middle).kind is OutcomeKind.CANCELLED
    assert supervisor.run(command).kind is OutcomeKind.FINISHED
    (first,) = re.findall(r"bytes=(\d+)-", server.asked_for(WEIGHTS)[-1].range or "")
    assert 180_000 <= int(first) <= 200_000


@of_one_store
def test_a_login_without_its_secret_ends_in_words(
    supervisor: Supervisor, server: BucketServer, job: Path
) -> None:
    wrong = {"bucket_login": "hf_ThisIsNoLoginToABucket0123456789"}
    outcome = supervisor.run(supervisor.command("fetch", job, secrets=wrong))
    assert outcome.failure is not None
    assert outcome.failure.code.endswith("-SECRET")
    assert "ThisIsNoLogin" not in json.dumps(outcome.failure.to_json())
    assert b"ThisIsNoLogin" not in supervisor.log


@pytest.fixture
def site(tiny: Path) -> Iterator[ArchiveServer]:
    with ArchiveServer() as archive_server:
        archive_server.files["/llama.tar.gz"] = packed(
            {f"llama/{path.name}": path.read_bytes() for path in tiny.iterdir()}
        )
        yield archive_server


def archive_spec(url: str) -> dict[str, object]:
    return spec_of("", checkpoint_repository={"source": "REMOTE_URL", "repo": url})


def test_an_archive_is_fetched_and_its_signature_stays_out_of_the_log(
    supervisor: Supervisor, site: ArchiveServer, tiny: Path
) -> None:
    supervisor.options = {
        "allow_private_addresses": True,
        "cache_dir": str(supervisor.folder / "cache"),
    }
    url = site.url("/llama.tar.gz?signature=0123456789abcdef")
    job = supervisor.job("fetch", archive_spec(url))
    outcome = supervisor.run(supervisor.command("fetch", job))
    assert outcome.kind is OutcomeKind.FINISHED, supervisor.log.decode()
    assert describe(publish(supervisor, "fetch") / "model") == describe(tiny)
    assert b"0123456789abcdef" not in supervisor.log
    totals = [each.total for each in supervisor.progress]
    assert len(site.files["/llama.tar.gz"]) in totals
    assert sum(each.size_bytes for each in describe(tiny)) in totals


def test_a_private_address_is_refused_by_the_step_too(
    supervisor: Supervisor, site: ArchiveServer
) -> None:
    job = supervisor.job("fetch", archive_spec(site.url("/llama.tar.gz")))
    outcome = supervisor.run(supervisor.command("fetch", job))
    assert outcome.failure is not None
    assert outcome.failure.code == "EUR-PRIVATE"
    assert site.requests == []
