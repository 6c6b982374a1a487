"""How `repo` is written for each source outside the hub: bucket URIs and addresses of archives."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from controlplane.domain.spec.choices import CheckpointSource

SCHEMES: Mapping[CheckpointSource, str] = {
    CheckpointSource.S3: "s3",
    CheckpointSource.GCS: "gs",
    CheckpointSource.AZURE: "az",
}
"""The scheme of each kind of bucket."""
_SOURCES = {scheme: source for source, scheme in SCHEMES.items()}
# The stores' own rules for names, so that nothing else can get into a host name or path.
_NAMES = {
    CheckpointSource.S3: re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
    CheckpointSource.GCS: re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"),
    CheckpointSource.AZURE: re.compile(r"\$root|(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*"),
}
_URI = re.compile(r"(?P<scheme>s3|gs|az)://(?P<name>[^/]+)(/(?P<folder>.*))?", re.DOTALL)
_S3_HOST = re.compile(r"((?P<name>.+)\.)?s3[.-]([a-z0-9-]+\.)?amazonaws\.com(\.cn)?")
_AZURE_HOST = re.compile(r"[a-z0-9]{3,24}\.blob\.core\.windows\.net")
# Of S3, Google and Azure, in their older and newer ways.
_SIGNING = re.compile(
    r"x-(amz|goog)-.*|signature|sig|expires|awsaccesskeyid|googleaccessid|key-pair-id|policy"
    r"|s[vretpsdiko]|spr|skoid|sktid|skt|ske|sks|skv",
    re.IGNORECASE,
)
_GCS_HOSTS = {"storage.googleapis.com", "storage.cloud.google.com"}


@dataclass(frozen=True, kw_only=True)
class BucketFolder:
    """A folder in a bucket (Azure calls it a container)."""

    source: CheckpointSource
    name: str
    folder: str
    """Without slashes at its ends; empty for the whole bucket."""

    def __str__(self) -> str:
        return f"{SCHEMES[self.source]}://{self.name}" + (f"/{self.folder}" if self.folder else "")


def bucket_folder(source: CheckpointSource, repo: str) -> BucketFolder | None:
    match = _URI.fullmatch(repo)
    if match is None or _SOURCES[match["scheme"]] is not source:
        return None
    folder = (match["folder"] or "").rstrip("/")
    if not _NAMES[source].fullmatch(match["name"]) or not _is_plain(folder):
        return None
    return BucketFolder(source=source, name=match["name"], folder=folder)


def archive_url(repo: str) -> SplitResult | None:
    """Return the parts of an http(s) address without a login in it, or None."""
    try:
        parts = urlsplit(repo)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return parts if repo.isascii() and repo.isprintable() and " " not in repo else None


def unsigned(url: str) -> str:
    """Return an address without the parameters that sign it, which differ each time."""
    parts = urlsplit(url)
    kept = [
        each for each in parts.query.split("&") if not _SIGNING.fullmatch(each.partition("=")[0])
    ]
    return urlunsplit(parts._replace(query="&".join(kept), fragment=""))


def is_signed(url: str) -> bool:
    names = (each.partition("=")[0].lower() for each in urlsplit(url).query.split("&"))
    return any(each == "sig" or each.endswith("signature") for each in names)


def shown(repo: str) -> str:
    """Return `repo` without what may open it: the login, query and fragment of an address."""
    if not repo.lower().startswith(("http://", "https://")):
        return repo
    scheme, _, rest = repo.partition("://")
    if archive_url(repo) is None:
        rest = rest.rpartition("@")[2]  # whatever stands before it may be a password
    return f"{scheme}://{re.split('[?#]', rest, maxsplit=1)[0]}"


def is_well_formed(source: CheckpointSource, repo: str) -> bool:
    """Return whether `repo` is written as its source wants it; sources without a form take all."""
    if source in SCHEMES:
        return bucket_folder(source, repo) is not None
    return source is not CheckpointSource.REMOTE_URL or archive_url(repo) is not None


def meant(source: CheckpointSource, repo: str) -> tuple[CheckpointSource, str] | None:
    """Return what a badly written `repo` most likely means, as source and repo, or None."""
    match = _URI.match(repo)
    candidates = [
        (_SOURCES[match["scheme"]], repo) if match else None,
        _of_store_url(repo),
        (CheckpointSource.REMOTE_URL, repo) if repo.startswith(("http://", "https://")) else None,
        (source, f"{SCHEMES[source]}://{repo.lstrip('/')}") if source in SCHEMES else None,
    ]
    return next((each for each in candidates if each and is_well_formed(*each)), None)


def _of_store_url(repo: str) -> tuple[CheckpointSource, str] | None:
    """Return the bucket behind an address as the stores' own consoles show it."""
    parts = archive_url(repo)
    if parts is None or parts.query or parts.hostname is None:
        return None
    host, path = parts.hostname, unquote(parts.path).strip("/")
    if match := _S3_HOST.fullmatch(host):
        return CheckpointSource.S3, f"s3://{match['name']}/{path}" if match[
            "name"
        ] else f"s3://{path}"
    if host in _GCS_HOSTS:
        return CheckpointSource.GCS, f"gs://{path}"
    return (CheckpointSource.AZURE, f"az://{path}") if _AZURE_HOST.fullmatch(host) else None


def _is_plain(folder: str) -> bool:
    steps = folder.split("/") if folder else []
    return folder.isprintable() and not any(
        each in ("", ".", "..") or set(each) & set("\\?#*") for each in steps
    )
