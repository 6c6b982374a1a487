"""Where a bucket is and who asks it, from ARTIFACT_URL and the variables of AWS."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from controlplane.artifacts.bucket import failures
from controlplane.artifacts.failures import ArtifactFailure, unreadable_file
from controlplane.domain.failures.registry import artifacts
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import bucket_folder

_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
# What ends up in a request header must not be able to end it.
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_DEFAULT_REGION = "us-east-1"
_ROLE = {
    "AWS_ROLE_ARN": "role_arn",
    "AWS_ROLE_SESSION_NAME": "role_session_name",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "web_identity_token_file",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "container_credentials_relative_uri",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "container_credentials_full_uri",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "container_authorization_token_file",
}


@dataclass(frozen=True, kw_only=True)
class Keys:
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Address:
    """A folder of a bucket, and the words in which failures speak of it."""

    url: str
    bucket: str
    prefix: str
    """With a slash at its end; empty for the whole bucket."""
    region: str
    endpoint: str
    is_own: bool
    """Whether AWS_ENDPOINT_URL names the endpoint."""
    keys: Keys | None
    """None: the role of the machine or the pod is asked for them."""
    role: Mapping[str, str] = field(default_factory=dict)
    """How the client is told of the role."""
    certificates: bytes | None = None
    """Whom to trust beside whom this host trusts, in PEM form."""
    proxy: str | None = field(default=None, repr=False)
    past_proxy: str = ""
    """Hosts that are asked without it."""


def read_address(url: str, variables: Mapping[str, str]) -> Address:
    """Return the address. Raises ArtifactFailure, which repeats no part of a login."""
    folder = bucket_folder(CheckpointSource.S3, url)
    if folder is None:
        raise ArtifactFailure.of(artifacts.WRONG_URL, url=_without_login(url))
    own = variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL")
    region = _region(variables)
    endpoint = _checked(own) if own else _endpoint_of(region)
    return Address(
        url=str(folder),
        bucket=folder.name,
        prefix=f"{folder.folder}/" if folder.folder else "",
        region=region,
        endpoint=endpoint,
        is_own=bool(own),
        keys=_keys(str(folder), variables, is_own=bool(own)),
        role={_ROLE[name]: value for name, value in variables.items() if name in _ROLE},
        certificates=_certificates(variables.get("AWS_CA_BUNDLE")),
        proxy=_either("HTTPS_PROXY" if endpoint.startswith("https:") else "HTTP_PROXY", variables),
        past_proxy=_either("NO_PROXY", variables) or "",
    )


def _region(variables: Mapping[str, str]) -> str:
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or _DEFAULT_REGION
    if not _REGION.fullmatch(region):
        raise ArtifactFailure.of(artifacts.REGION_NAME, region=region)
    return region


def _endpoint_of(region: str) -> str:
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{domain}"


def _checked(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ArtifactFailure.of(artifacts.WRONG_ENDPOINT, endpoint=endpoint.rpartition("@")[2])
    return endpoint.rstrip("/")


def _keys(url: str, variables: Mapping[str, str], *, is_own: bool) -> Keys | None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    missing = [name for name in names if not variables.get(name)]
    if len(missing) == len(names) and not is_own:
        return None  # only AWS itself has roles to ask for
    if missing:
        raise failures.no_login(url, missing[0])
    for name in (*names, "AWS_SESSION_TOKEN"):
        if not _PRINTABLE.fullmatch(variables.get(name, "x")):
            raise failures.unprintable(name)
    return Keys(
        access_key_id=variables["AWS_ACCESS_KEY_ID"],
        secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        session_token=variables.get("AWS_SESSION_TOKEN"),
    )


def _certificates(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise unreadable_file("AWS_CA_BUNDLE", path, error) from None


def _either(name: str, variables: Mapping[str, str]) -> str | None:
    return variables.get(name.lower()) or variables.get(name)


def _without_login(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
