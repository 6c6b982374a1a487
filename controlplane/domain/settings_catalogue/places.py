"""Settings: where things are."""

from controlplane.domain.settings_catalogue.setting import Group, Setting

PLACES = Group(
    title="Where things are",
    settings=(
        Setting(
            name="DATA_DIR",
            default="`.data` in the source tree",
            read_by="all",
            says="Folder for everything that is kept on this machine.",
        ),
        Setting(
            name="DATABASE_URL",
            default="embedded PostgreSQL",
            read_by="web, workers, up",
            says="`postgresql://user:password@host:5432/name`.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="BROKER_URL",
            default="embedded Valkey",
            read_by="all",
            says="`redis://:password@host:6379/0`; Redis and Valkey both work.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="ARTIFACT_URL",
            default="`DATA_DIR/artifacts`",
            read_by="web, workers, agent",
            says="`s3://bucket/prefix` of AWS or of a store of your own, or a `file:///folder` "
            "that every host mounts. Web and build workers write there, the control worker removes "
            "what nothing names; folders in a `file:///` one are as open as it is.",
        ),
        Setting(
            name="AWS_ENDPOINT_URL",
            default="AWS",
            read_by="web, workers, agent",
            says="Where the bucket of `ARTIFACT_URL` is, for a store of your own (MinIO, Ceph, "
            "R2, …): `https://minio.example.com:9000`.",
        ),
        Setting(
            name="AWS_ENDPOINT_URL_S3",
            default="`AWS_ENDPOINT_URL`",
            read_by="web, workers, agent",
            says="The same, before `AWS_ENDPOINT_URL`, as AWS's own tools have it.",
        ),
        Setting(
            name="AWS_REGION",
            default="`AWS_DEFAULT_REGION`, else `us-east-1`",
            read_by="web, workers, agent",
            says="The region of that bucket.",
        ),
        Setting(
            name="AWS_DEFAULT_REGION",
            default="none",
            read_by="web, workers, agent",
            says="The region where `AWS_REGION` names none.",
        ),
        Setting(
            name="AWS_CA_BUNDLE",
            default="whom the host trusts",
            read_by="web, workers, agent",
            says="File with the certificates of authorities to trust as well, in PEM form: for a "
            "store of your own with a certificate of your own.",
        ),
        Setting(
            name="AWS_ACCESS_KEY_ID",
            default="none",
            read_by="web, workers, agent",
            says="The key of that bucket. Without one, AWS is asked for the role of the machine or "
            "pod; a store of your own is not.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="AWS_SECRET_ACCESS_KEY",
            default="none",
            read_by="web, workers, agent",
            says="Its other half.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="AWS_SESSION_TOKEN",
            default="none",
            read_by="web, workers, agent",
            says="Beside keys that end; a new one is read when a process starts again.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="AWS_ROLE_ARN",
            default="none",
            read_by="web, workers, agent",
            says="The role that `AWS_WEB_IDENTITY_TOKEN_FILE` opens; without keys only.",
        ),
        Setting(
            name="AWS_ROLE_SESSION_NAME",
            default="the client's",
            read_by="web, workers, agent",
            says="How AWS's records name the use of that role.",
        ),
        Setting(
            name="AWS_WEB_IDENTITY_TOKEN_FILE",
            default="none",
            read_by="web, workers, agent",
            says="File with the token for that role, as Kubernetes writes it.",
        ),
        Setting(
            name="AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            default="none",
            read_by="web, workers, agent",
            says="Where a container on AWS asks for its keys, as AWS sets it.",
        ),
        Setting(
            name="AWS_CONTAINER_CREDENTIALS_FULL_URI",
            default="none",
            read_by="web, workers, agent",
            says="The same as a whole address, with `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`.",
        ),
        Setting(
            name="AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            default="none",
            read_by="web, workers, agent",
            says="File with the token for that address.",
        ),
        Setting(
            name="PUBLIC_URL",
            default="`http://127.0.0.1:8000`",
            read_by="web, up",
            says="Where browsers reach the pages; links and cookies follow it.",
        ),
        Setting(
            name="GATEWAY_URL",
            default="`http://127.0.0.1:8001`",
            read_by="web, up",
            says="Where applications reach the models.",
        ),
        Setting(
            name="GATEWAY_INTERNAL_URL",
            default="`GATEWAY_URL`",
            read_by="web",
            says="Where the web process itself reaches the gateway, for the [Try it "
            "page](try_it.md).",
        ),
        Setting(
            name="CONTROL_PLANE_URL",
            default="`PUBLIC_URL`",
            read_by="workers, agent, gateway",
            says="Where our own processes reach the web process.",
        ),
        Setting(
            name="ALLOWED_HOSTS",
            default="`localhost,api.localhost,127.0.0.1,[::1]`",
            read_by="web",
            says="Host names that the web process answers to.",
        ),
        Setting(
            name="HOST",
            default="`127.0.0.1`",
            read_by="up",
            says="Address to listen on.",
        ),
        Setting(
            name="WEB_PORT",
            default="`8000`, else the next free one",
            read_by="up",
            says="Port of the web process.",
        ),
        Setting(
            name="GATEWAY_PORT",
            default="`8001`, else the next free one",
            read_by="up",
            says="Port of the gateway.",
        ),
    ),
)
