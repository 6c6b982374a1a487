"""AWS's variables, by which the artifact store is opened."""

from controlplane.process_settings.base import ProcessSettings, variable
from controlplane.process_settings.common import PLACES


class StoreSettings(ProcessSettings):
    """Of whoever opens the artifact store, which checks their values."""

    group = PLACES
    read_by = "web, workers, agent"

    endpoint_url: str = variable("AWS_ENDPOINT_URL", "", shown="AWS")
    """Where the bucket of `ARTIFACT_URL` is, for a store of your own (MinIO, Ceph, R2, …):
    `https://minio.example.com:9000`."""

    endpoint_url_s3: str = variable("AWS_ENDPOINT_URL_S3", "", shown="`AWS_ENDPOINT_URL`")
    """The same, before `AWS_ENDPOINT_URL`, as AWS's own tools have it."""

    region: str = variable("AWS_REGION", "", shown="`AWS_DEFAULT_REGION`, else `us-east-1`")
    """The region of that bucket."""

    default_region: str = variable("AWS_DEFAULT_REGION", "")
    """The region where `AWS_REGION` names none."""

    ca_bundle: str = variable("AWS_CA_BUNDLE", "", shown="whom the host trusts")
    """File with the certificates of authorities to trust as well, in PEM form: for a store of your
    own with a certificate of your own."""

    access_key_id: str = variable("AWS_ACCESS_KEY_ID", "", is_secret=True)
    """The key of that bucket. Without one, AWS is asked for the role of the machine or pod; a
    store of your own is not."""

    secret_access_key: str = variable("AWS_SECRET_ACCESS_KEY", "", is_secret=True)
    """Its other half."""

    session_token: str = variable("AWS_SESSION_TOKEN", "", is_secret=True)
    """Beside keys that end; a new one is read when a process starts again."""

    role_arn: str = variable("AWS_ROLE_ARN", "")
    """The role that `AWS_WEB_IDENTITY_TOKEN_FILE` opens; without keys only."""

    role_session_name: str = variable("AWS_ROLE_SESSION_NAME", "", shown="the client's")
    """How AWS's records name the use of that role."""

    web_identity_token_file: str = variable("AWS_WEB_IDENTITY_TOKEN_FILE", "")
    """File with the token for that role, as Kubernetes writes it."""

    container_relative_uri: str = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "")
    """Where a container on AWS asks for its keys, as AWS sets it."""

    container_full_uri: str = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
    """The same as a whole address, with `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`."""

    container_token_file: str = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "")
    """File with the token for that address."""
