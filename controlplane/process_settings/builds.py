"""Where checkpoints come from, and what builds may take."""

import os
from typing import Annotated

from pydantic import BeforeValidator

from controlplane.process_settings.base import variable
from controlplane.process_settings.common import CHECKPOINTS_AND_BUILDS, TracedSettings
from controlplane.process_settings.kinds import HttpUrl, LowerList, split_by


class BuildSettings(TracedSettings):
    """Of web and workers."""

    group = CHECKPOINTS_AND_BUILDS
    read_by = "workers"

    hf_endpoint: HttpUrl = variable("HF_ENDPOINT", "https://huggingface.co", read_by="web, workers")
    """The hub that `HF` checkpoints come from."""

    local_checkpoint_roots: Annotated[list[str], BeforeValidator(split_by(os.pathsep))] = variable(
        "LOCAL_CHECKPOINT_ROOTS",
        default_factory=lambda settings: [str(settings["data_dir"] / "checkpoints")],
        shown="`DATA_DIR/checkpoints`",
    )
    """Folders that `LOCAL` checkpoints may lie in, separated by `:`."""

    s3_endpoint: HttpUrl | None = variable("S3_ENDPOINT", None, shown="AWS")
    """Where `S3` checkpoints come from, for a store of your own (MinIO, Ceph, …):
    `https://s3.example.com`."""

    s3_region: str = variable("S3_REGION", "us-east-1")
    """The region where a secret names none."""

    gcs_endpoint: HttpUrl | None = variable(
        "GCS_ENDPOINT", None, shown="`https://storage.googleapis.com`"
    )
    """Where `GCS` checkpoints come from."""

    azure_endpoint: HttpUrl | None = variable(
        "AZURE_ENDPOINT", None, shown="the account's own address"
    )
    """Where `AZURE` checkpoints come from; the account's name included where it is part of the
    path."""

    azure_account: str | None = variable("AZURE_ACCOUNT", None)
    """The storage account where a secret names none."""

    allow_private_addresses: bool = variable("ALLOW_PRIVATE_ADDRESSES", False)
    """`1`: a `REMOTE_URL` may lead to this machine and to private networks. Whoever may write a
    config can then reach them too."""

    secret_test_hosts: LowerList = variable("SECRET_TEST_HOSTS", [], read_by="web")
    """Hosts, separated by commas, that a token may be sent to when somebody tests a secret on an
    address; the host of `HF_ENDPOINT` always may."""

    calibration_max_bytes: int = variable(
        "CALIBRATION_MAX_BYTES", 500_000_000, ge=1_000_000, read_by="web"
    )
    """The largest file that may be uploaded as calibration data."""

    build_pool: str = variable("BUILD_POOL", "default", read_by="workers, up")
    """The pool whose builds this worker carries out."""

    engine_cpu_threads: int = variable(
        "ENGINE_CPU_THREADS", 0, ge=0, shown="the cores that are free", read_by="workers, agent"
    )
    """Threads of a CPU engine."""
