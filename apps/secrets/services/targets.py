"""What a secret may be tested on: a value is sent only to whom the operator trusts with one."""

from urllib.parse import urlsplit

from django.conf import settings

from apps.rest.errors import InvalidInput
from apps.secrets.models import Secret
from controlplane.domain.secret_tests import ProbeKind
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME, is_hub_id
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import archive_url, bucket_folder, is_signed

LONGEST_TARGET = 2000
_SOURCES = {
    ProbeKind.S3: (CheckpointSource.S3, "s3://bucket/folder"),
    ProbeKind.GCS: (CheckpointSource.GCS, "gs://bucket/folder"),
    ProbeKind.AZURE: (CheckpointSource.AZURE, "az://container/folder"),
}
_SCHEMES = {"s3": ProbeKind.S3, "gs": ProbeKind.GCS, "az": ProbeKind.AZURE}


def kind_of(target: str) -> ProbeKind:
    scheme = target.partition("://")[0].lower() if "://" in target else ""
    if scheme in ("http", "https"):
        return ProbeKind.URL
    return _SCHEMES.get(scheme, ProbeKind.HUB)


def checked_target(secret: Secret, target: str) -> tuple[ProbeKind, str]:
    """Return what to test the secret on. Raises InvalidInput for what cannot be, or may not."""
    target = target.strip()
    if not 1 <= len(target) <= LONGEST_TARGET or not target.isprintable():
        raise _refused(f"A target has 1 to {LONGEST_TARGET:,} printable characters.")
    kind = kind_of(target)
    if kind is ProbeKind.HUB:
        _check_hub(target)
    elif kind is ProbeKind.URL:
        _check_url(target)
    else:
        _check_bucket(kind, secret, target)
    return kind, target


def _check_hub(target: str) -> None:
    if not is_hub_id(target.partition("@")[0]):
        raise _refused(
            f"`{target[:100]}` is nothing that a secret can be tested on.",
            hint="Name a repository of the hub (`owner/name`, `owner/name@revision`), a bucket "
            "(`s3://`, `gs://`, `az://`) or an https address.",
        )


def _check_bucket(kind: ProbeKind, secret: Secret, target: str) -> None:
    source, form = _SOURCES[kind]
    if bucket_folder(source, target) is None:
        raise _refused(f"`{target[:100]}` names no bucket.", hint=f"Write `{form}`.")
    if secret.name == DEFAULT_SECRET_NAME:
        raise _refused(
            f"`{secret.name}` is sent to the hub only.",
            hint="Store the bucket's login under another name.",
        )


def _check_url(target: str) -> None:
    parts = archive_url(target)
    if parts is None or is_signed(target):
        raise _refused("The address has a login or a signature in it, or is none at all.")
    if parts.scheme != "https" and not settings.ALLOW_PRIVATE_ADDRESSES:
        raise _refused("A token is sent over https only.")
    host = (parts.hostname or "").lower()
    known = [urlsplit(settings.HF_ENDPOINT).hostname or "", *settings.SECRET_TEST_HOSTS]
    if host not in known:
        raise _refused(
            f"A secret is not sent to `{host}`: whoever runs it would have the value.",
            hint=f"Known are {', '.join(f'`{each}`' for each in known)}; the operator adds others "
            "with SECRET_TEST_HOSTS.",
        )


def _refused(message: str, hint: str | None = None) -> InvalidInput:
    return InvalidInput(message, fields=["target"], hint=hint)
