"""Where the parts of an installation are, as web and workers know them."""

from typing import Any
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import field_validator

from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import bucket_folder
from controlplane.process_settings.base import variable
from controlplane.process_settings.common import PLACES, NodeSettings
from controlplane.process_settings.kinds import CommaList, HttpUrl, url_of
from controlplane.processes.running import running_services

_DATABASE_FORM = "`postgresql://user:password@host:5432/name`"


def _running(name: str, otherwise: str = "") -> Any:
    # `manage.py up` writes the addresses of the servers it started; other commands find them there.
    return lambda settings: getattr(running_services(settings["data_dir"]), name) or otherwise


class AddressSettings(NodeSettings):
    """Of web and workers; `DATABASE_URL` is empty where a command needs no database."""

    group = PLACES
    read_by = "web"

    broker_url: str = variable("BROKER_URL", default_factory=_running("broker_url"), is_secret=True)

    database_url: str = variable(
        "DATABASE_URL",
        default_factory=_running("database_url"),
        shown="embedded PostgreSQL",
        read_by="web, workers, up",
        is_secret=True,
    )
    """`postgresql://user:password@host:5432/name`."""

    artifact_url: str = variable(
        "ARTIFACT_URL",
        default_factory=lambda settings: (settings["data_dir"] / "artifacts").as_uri(),
        shown="`DATA_DIR/artifacts`",
        read_by="web, workers, agent",
    )
    """`s3://bucket/prefix` of AWS or of a store of your own, or a `file:///folder` that every host
    mounts. Web and build workers write there, the control worker removes what nothing names;
    folders in a `file:///` one are as open as it is."""

    public_url: HttpUrl = variable(
        "PUBLIC_URL",
        default_factory=_running("public_url", "http://127.0.0.1:8000"),
        shown="`http://127.0.0.1:8000`",
        read_by="web, up",
    )
    """Where browsers reach the pages; links and cookies follow it."""

    gateway_url: HttpUrl = variable(
        "GATEWAY_URL",
        default_factory=_running("gateway_url", "http://127.0.0.1:8001"),
        shown="`http://127.0.0.1:8001`",
        read_by="web, up",
    )
    """Where applications reach the models."""

    gateway_internal_url: HttpUrl = variable(
        "GATEWAY_INTERNAL_URL",
        default_factory=lambda settings: settings["gateway_url"],
        shown="`GATEWAY_URL`",
        read_by="web, workers",
    )
    """Where our own processes reach the gateway: web for the [Try it page](try_it.md), workers for
    [asynchronous requests](async_requests.md)."""

    control_plane_url: HttpUrl = variable(
        "CONTROL_PLANE_URL",
        default_factory=lambda settings: settings["public_url"],
        shown="`PUBLIC_URL`",
        read_by="workers, agent, gateway",
    )
    """Where our own processes reach the web process."""

    allowed_hosts: CommaList = variable(
        "ALLOWED_HOSTS", ["localhost", "api.localhost", "127.0.0.1", "[::1]"]
    )
    """Host names that the web process answers to."""

    @field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, url: str) -> str:
        if url and urlsplit(url).scheme not in {"postgresql", "postgres"}:
            raise ValueError(f"Enginehouse runs on PostgreSQL alone; write {_DATABASE_FORM}.")
        try:
            conninfo_to_dict(url)
        except ProgrammingError:  # its words may hold the password
            raise ValueError(f"is no address of a database; write {_DATABASE_FORM}.") from None
        return url

    @field_validator("artifact_url")
    @classmethod
    def _is_a_folder_or_names_a_bucket(cls, url: str) -> str:
        checked = url_of("file", "s3")(url)
        if checked.startswith("s3://") and bucket_folder(CheckpointSource.S3, checked) is None:
            # What stands before an @ may be a password.
            raise ValueError(
                f"`s3://{checked.removeprefix('s3://').rpartition('@')[2]}` does not name a "
                "bucket; write `s3://bucket/prefix`, with keys in AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY."
            )
        return checked
