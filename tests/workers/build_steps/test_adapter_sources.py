"""LoRA adapters of a config from every source that checkpoints come from."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from controlplane.artifacts import describe
from tests.archive_server import ArchiveServer, packed
from tests.bucket_server import BucketServer, Trouble
from tests.hub_server import HubServer
from tests.tiny_adapter import make_tiny_adapter
from tests.workers.build_steps.supervising import Supervisor, finished, publish, spec_of
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, StepOutcome, Verdict

pytestmark = pytest.mark.process

SCHEMES = {"S3": "s3", "GCS": "gs", "AZURE": "az"}
FIELD = "trt_llm.build.lora_adapters.legal"
WEIGHTS = "adapter_model.safetensors"


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a rank so high that its transfer has a middle."""
    return make_tiny_adapter(tmp_path_factory.mktemp("adapters") / "legal", seed=1, rank=64)


@pytest.fixture
def bucket(request: pytest.FixtureRequest, adapter: Path) -> Iterator[BucketServer]:
    with BucketServer(getattr(request, "param", "S3")) as bucket_server:
        bucket_server.put_files(
            "weights", "legal", {p.name: p.read_bytes() for p in adapter.iterdir()}
        )
        yield bucket_server


@pytest.fixture
def fetching(supervisor: Supervisor) -> "Fetching":
    return Fetching(supervisor)


class Fetching:
    """Runs the step `fetch` of the tiny checkpoint with one adapter, `legal`."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.options: dict[str, Any] = {
            "cache_dir": str(supervisor.folder / "cache"),
            "timeout_seconds": 60,
            "attempts": 2,
            "backoff_seconds": 0.05,
        }
        self.secrets: dict[str, str] = {}

    def from_bucket(self, bucket: BucketServer) -> dict[str, Any]:
        names = ("s3_endpoint", "gcs_endpoint", "azure_endpoint")
        self.options |= dict.fromkeys(names, bucket.endpoint)
        self.secrets = {"bucket_login": bucket.secret}
        return {
            "source": bucket.source,
            "repo": f"{SCHEMES[bucket.source]}://weights/legal",
            "runtime_secret_name": "bucket_login",
        }

    def spec(self, place: dict[str, Any]) -> dict[str, Any]:
        (root,) = self.supervisor.roots
        spec = spec_of(f"{root}/tiny", lora_adapters={"legal": place})
        return {**spec, "secrets": dict.fromkeys(self.secrets)}

    def run(self, place: dict[str, Any], **heartbeat: Any) -> StepOutcome:
        self.supervisor.options |= self.options
        job = self.supervisor.job("fetch", self.spec(place))
        command = self.supervisor.command("fetch", job, secrets=self.secrets)
        return self.supervisor.run(command, **heartbeat)

    def refused(self, place: dict[str, Any]) -> tuple[str, str | None]:
        """Return code and field of the failure, whose sentence names the adapter."""
        failure = self.run(place).failure
        assert failure is not None
        assert failure.sentence.startswith(("Adapter `legal`: ", "The adapter `legal` "))
        return failure.code, failure.field


@pytest.mark.parametrize(
    "bucket",
    ["S3", *(pytest.param(each, marks=pytest.mark.long) for each in ("GCS", "AZURE"))],
    indirect=True,
)
def test_an_adapter_comes_from_a_bucket_that_its_secret_opens(
    fetching: Fetching, bucket: BucketServer, adapter: Path
) -> None:
    outcome = fetching.run(fetching.from_bucket(bucket))
    assert outcome.kind is OutcomeKind.FINISHED, fetching.supervisor.log.decode()
    final = publish(fetching.supervisor, "fetch")
    assert describe(final / "model/adapters/legal") == describe(adapter)
    (report,) = outputs.read(final).values["adapters"]
    assert report["source"] == bucket.source
    assert report["commit"].startswith("listing-")


def test_an_adapter_comes_out_of_an_archive_whose_signature_nobody_keeps(
    fetching: Fetching, adapter: Path
) -> None:
    with ArchiveServer() as site:
        files = {f"legal/{path.name}": path.read_bytes() for path in adapter.iterdir()}
        site.files["/legal.tar.gz"] = packed(files)
        fetching.options["allow_private_addresses"] = True
        signed = site.url("/legal.tar.gz?signature=0123456789abcdef")
        outcome = fetching.run({"source": "REMOTE_URL", "repo": signed})
    assert outcome.kind is OutcomeKind.FINISHED, fetching.supervisor.log.decode()
    final = publish(fetching.supervisor, "fetch")
    assert describe(final / "model/adapters/legal") == describe(adapter)
    (report,) = outputs.read(final).values["adapters"]
    assert re.fullmatch("[0-9a-f]{64}", report["commit"])
    assert b"0123456789abcdef" not in fetching.supervisor.log
    assert "0123456789abcdef" not in json.dumps(outcome.values)


def test_an_adapter_of_the_hub_is_read_with_its_own_token(
    fetching: Fetching, adapter: Path
) -> None:
    with HubServer() as hub:
        hub.add("owner/legal", adapter, gated=True, readers={"hf_opens"})
        hub.tokens |= {"hf_opens", "hf_reads_others"}
        fetching.options["hf_endpoint"] = hub.url
        place = {"source": "HF", "repo": "owner/legal", "runtime_secret_name": "hub_token"}
        fetching.secrets = {"hub_token": "hf_reads_others"}
        assert fetching.refused(place)[0] == "EHF-GATED"
        fetching.secrets = {"hub_token": "hf_opens"}
        assert fetching.run(place).kind is OutcomeKind.FINISHED


@pytest.mark.long  # of a checkpoint, test_fetch_sources.py and test_steps.py say it
def test_a_fetch_that_was_cancelled_in_an_adapter_goes_on_there_and_is_packaged(
    fetching: Fetching, bucket: BucketServer, adapter: Path
) -> None:
    size = (adapter / WEIGHTS).stat().st_size
    bucket.trouble(f"legal/{WEIGHTS}", Trouble(break_after=size // 2, times=1, stall=True))
    place = fetching.from_bucket(bucket)
    cache = fetching.supervisor.folder / "cache"

    def cancel_in_the_middle() -> Verdict:
        partial = list(cache.rglob(f"{WEIGHTS}.partial"))
        # The last bytes may still lie in a buffer of the child.
        there = bool(partial) and partial[0].stat().st_size >= size // 4
        return Verdict.CANCEL if there else Verdict.CONTINUE

    assert fetching.run(place, heartbeat=cancel_in_the_middle).kind is OutcomeKind.CANCELLED
    assert fetching.run(place).kind is OutcomeKind.FINISHED
    (first,) = re.findall(r"bytes=(\d+)-", bucket.asked_for(f"legal/{WEIGHTS}")[-1].range or "")
    assert size // 4 <= int(first) <= size // 2
    fetching.supervisor.options["secret_names"] = ["bucket_login"]
    folders = {"fetch": publish(fetching.supervisor, "fetch")}
    spec = fetching.spec(place)
    for step in ("inspect", "package"):
        folders[step] = finished(fetching.supervisor, step, spec, **folders)
    packaged = outputs.read(folders["package"]).values
    assert f"adapters/legal/{WEIGHTS}" in {each["path"] for each in packaged["manifest"]}
    assert packaged["inputs"]["adapters"][0]["source"] == "S3"


def test_what_is_wrong_with_a_bucket_is_said_of_the_adapter(
    fetching: Fetching, bucket: BucketServer
) -> None:
    place = fetching.from_bucket(bucket)
    assert fetching.refused({**place, "repo": "s3://weights/other"})[1] == f"{FIELD}.repo"
    fetching.secrets = {"bucket_login": "hf_ThisIsNoLoginToABucket0123456789"}
    assert fetching.refused(place) == ("ES3-SECRET", f"{FIELD}.runtime_secret_name")
    assert b"ThisIsNoLogin" not in fetching.supervisor.log


def test_a_training_project_of_the_hosted_product_is_no_place_of_an_adapter(
    fetching: Fetching,
) -> None:
    place = {"source": "BASETEN_TRAINING", "repo": "legal-training"}
    assert fetching.refused(place) == ("EHS-HOSTED-TRAINING", f"{FIELD}.source")


def test_an_adapter_that_is_not_all_numbers_is_refused_by_name(
    fetching: "Fetching", adapter: Path, tiny: Path
) -> None:
    folder = tiny.parent / "diverged"
    shutil.copytree(adapter, folder)
    tensors = load_file(folder / WEIGHTS)
    name = next(iter(tensors))
    tensors[name][-1, -1] = np.nan
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    supervisor = fetching.supervisor
    spec = spec_of(str(tiny), lora_adapters={"legal": {"source": "LOCAL", "repo": str(folder)}})
    outcome = supervisor.run(supervisor.command("fetch", supervisor.job("fetch", spec)))
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.field) == ("EHB-ADAPTER", FIELD)
    assert f"`{name}` holds 1 value that" in outcome.failure.sentence
