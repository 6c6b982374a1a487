"""Settings: checkpoints and builds."""

from controlplane.domain.settings_catalogue.setting import Group, Setting

CHECKPOINTS_AND_BUILDS = Group(
    title="Checkpoints and builds",
    settings=(
        Setting(
            name="HF_ENDPOINT",
            default="`https://huggingface.co`",
            read_by="web, workers",
            says="The hub that `HF` checkpoints come from.",
        ),
        Setting(
            name="LOCAL_CHECKPOINT_ROOTS",
            default="`DATA_DIR/checkpoints`",
            read_by="workers",
            says="Folders that `LOCAL` checkpoints may lie in, separated by `:`.",
        ),
        Setting(
            name="S3_ENDPOINT",
            default="AWS",
            read_by="workers",
            says="Where `S3` checkpoints come from, for a store of your own (MinIO, Ceph, "
            "…): `https://s3.example.com`.",
        ),
        Setting(
            name="S3_REGION",
            default="`us-east-1`",
            read_by="workers",
            says="The region where a secret names none.",
        ),
        Setting(
            name="GCS_ENDPOINT",
            default="`https://storage.googleapis.com`",
            read_by="workers",
            says="Where `GCS` checkpoints come from.",
        ),
        Setting(
            name="AZURE_ENDPOINT",
            default="the account's own address",
            read_by="workers",
            says="Where `AZURE` checkpoints come from; the account's name included where it "
            "is part of the path.",
        ),
        Setting(
            name="AZURE_ACCOUNT",
            default="none",
            read_by="workers",
            says="The storage account where a secret names none.",
        ),
        Setting(
            name="ALLOW_PRIVATE_ADDRESSES",
            default="`0`",
            read_by="workers",
            says="`1`: a `REMOTE_URL` may lead to this machine and to private networks. "
            "Whoever may write a config can then reach them too.",
        ),
        Setting(
            name="SECRET_TEST_HOSTS",
            default="none",
            read_by="web",
            says="Hosts, separated by commas, that a token may be sent to when somebody "
            "tests a secret on an address; the host of `HF_ENDPOINT` always may.",
        ),
        Setting(
            name="CALIBRATION_MAX_BYTES",
            default="`500000000`",
            read_by="web",
            says="The largest file that may be uploaded as calibration data.",
        ),
        Setting(
            name="BUILD_POOL",
            default="`default`",
            read_by="workers, up",
            says="The pool whose builds this worker carries out.",
        ),
        Setting(
            name="ENGINE_CPU_THREADS",
            default="the cores that are free",
            read_by="workers, agent",
            says="Threads of a CPU engine.",
        ),
        Setting(
            name="ENGINE_PORTS",
            default="15000 up to the first that the kernel gives out",
            read_by="agent",
            says="The ports that engines and their runners listen on, two for each replica, such "
            "as `20000-20999`. Told when the node enrolls; gateways ask a node at no others.",
        ),
    ),
)
