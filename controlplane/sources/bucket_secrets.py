"""What the secret of a bucket must hold. No failure of these repeats any part of a value."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.json_text import read_json
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bucket_failures import wrong_secret

_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
# What ends up in a request header must not be able to end it.
_PRINTABLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, kw_only=True)
class S3Keys:
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(repr=False)
    region: str | None


@dataclass(frozen=True, kw_only=True)
class ServiceAccount:
    client_email: str
    private_key: str = field(repr=False)
    private_key_id: str


@dataclass(frozen=True, kw_only=True)
class AccountKey:
    account_key: str = field(repr=False)
    account_name: str | None


def s3_keys(checkpoint: CheckpointRepository, secret: str) -> S3Keys:
    """Return the login that a secret holds. Raises SourceFailure."""
    read = _Fields(checkpoint, secret)
    return S3Keys(
        access_key_id=read.text("aws_access_key_id", _PRINTABLE),
        secret_access_key=read.text("aws_secret_access_key", _PRINTABLE),
        session_token=read.optional("aws_session_token", _PRINTABLE),
        region=read.optional("aws_region", _REGION),
    )


def service_account(checkpoint: CheckpointRepository, secret: str) -> ServiceAccount:
    """Return the login that a secret holds. Raises SourceFailure.

    Only these three fields go on: the file's own addresses must not decide whom we talk to.
    """
    read = _Fields(checkpoint, secret)
    login = ServiceAccount(
        client_email=read.text("client_email", _PRINTABLE),
        private_key=read.text("private_key", None),
        private_key_id=read.text("private_key_id", _PRINTABLE),
    )
    if not _is_rsa_key(login.private_key):
        raise wrong_secret(checkpoint, "its `private_key` is not an RSA key in PEM form")
    return login


def _is_rsa_key(pem: str) -> bool:
    # Here and not above: its import is a tenth of that of a step, which hardly ever reads one.
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return isinstance(load_pem_private_key(pem.encode(), password=None), RSAPrivateKey)
    except (ValueError, TypeError):
        return False


def account_key(checkpoint: CheckpointRepository, secret: str) -> AccountKey:
    """Return the login that a secret holds. Raises SourceFailure."""
    read = _Fields(checkpoint, secret)
    key = read.text("account_key", _PRINTABLE)
    try:
        base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise wrong_secret(checkpoint, "its `account_key` is not base64") from None
    return AccountKey(account_key=key, account_name=read.optional("account_name", _ACCOUNT))


class _Fields:
    """The fields of a JSON secret, with what is wrong with them in words that hold no value."""

    def __init__(self, checkpoint: CheckpointRepository, secret: str) -> None:
        self._checkpoint = checkpoint
        self._given = self._parse(secret)

    def text(self, name: str, form: re.Pattern[str] | None) -> str:
        value = self.optional(name, form)
        if value is None:
            raise wrong_secret(self._checkpoint, f"it has no `{name}`")
        return value

    def optional(self, name: str, form: re.Pattern[str] | None) -> str | None:
        value = self._given.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise wrong_secret(self._checkpoint, f"its `{name}` is not a text")
        if form is not None and not form.fullmatch(value):
            raise wrong_secret(self._checkpoint, f"its `{name}` has characters that cannot be")
        return value

    def _parse(self, secret: str) -> Mapping[str, Any]:
        # The parser's own message quotes what it read.
        try:
            given = read_json(secret)
        except ValueError:
            raise wrong_secret(self._checkpoint, "it is not JSON") from None
        if not isinstance(given, dict):
            raise wrong_secret(self._checkpoint, "it is JSON but not an object")
        return given
