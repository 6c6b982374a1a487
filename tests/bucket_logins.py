"""Logins of the loopback object stores: what a secret holds, and whether a request proves it."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol
from urllib.parse import parse_qsl, quote, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ACCOUNT = "weightsaccount"


@dataclass(frozen=True)
class Refusal:
    """How a store answers a login that does not open."""

    status: int
    code: str
    message: str = "refused"


class Login(Protocol):
    """One login that a store knows."""

    secret: dict[str, str]

    def refusal(self, method: str, target: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused, or None for one that the login signed."""


class S3Login:
    """An access key; Signature Version 4 in the header."""

    def __init__(self) -> None:
        self.secret = {
            "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE",
            "aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        }

    def refusal(self, method: str, target: str, headers: Mapping[str, str]) -> Refusal | None:
        given = dict(
            part.strip().split("=", 1)
            for part in headers["authorization"].removeprefix("AWS4-HMAC-SHA256").split(",")
        )
        key_id, *scope = given["Credential"].split("/")
        if key_id != self.secret["aws_access_key_id"]:
            return Refusal(403, "InvalidAccessKeyId")
        if headers.get("x-amz-security-token") != self.secret.get("aws_session_token"):
            return Refusal(400, "InvalidToken")
        signed = given["SignedHeaders"].split(";")
        path, _, query = target.partition("?")
        pairs = sorted(parse_qsl(query, keep_blank_values=True))
        canonical = "\n".join(
            [
                method,
                path,
                "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in pairs),
                *[f"{name}:{headers[name].strip()}" for name in signed],
                "",
                ";".join(signed),
                headers["x-amz-content-sha256"],
            ]
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join(scope), digest])
        key = f"AWS4{self.secret['aws_secret_access_key']}".encode()
        for part in [*scope, text]:
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        matches = hmac.compare_digest(key.hex(), given["Signature"])
        return None if matches else Refusal(403, "SignatureDoesNotMatch")

    @staticmethod
    def region(headers: Mapping[str, str]) -> str:
        """Return the region that a request was signed for."""
        return headers["authorization"].split("Credential=")[1].split("/")[2]


class GoogleLogin:
    """A service account; a JWT that it signed itself as bearer token."""

    def __init__(self) -> None:
        self._key = _rsa_key()
        self.secret = {
            "type": "service_account",
            "client_email": "reader@project.iam.gserviceaccount.com",
            "private_key_id": "9a1c",
            "private_key": self._key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ).decode(),
            "token_uri": "http://127.0.0.1:1/never-asked",
        }

    def refusal(self, method: str, target: str, headers: Mapping[str, str]) -> Refusal | None:
        del method, target
        parts = headers["authorization"].removeprefix("Bearer ").split(".")
        try:
            signed = f"{parts[0]}.{parts[1]}".encode()
            self._key.public_key().verify(
                _unpadded(parts[2]), signed, padding.PKCS1v15(), hashes.SHA256()
            )
            claims = json.loads(_unpadded(parts[1]))
        except (InvalidSignature, IndexError, ValueError):
            return Refusal(401, "AuthenticationRequired")
        known = claims["iss"] == self.secret["client_email"]
        return None if known else Refusal(401, "AuthenticationRequired")


class AzureLogin:
    """An account key; Shared Key in the header."""

    def __init__(self) -> None:
        self.secret = {
            "account_name": ACCOUNT,
            "account_key": base64.b64encode(b"an account key of 64 bytes".ljust(64, b".")).decode(),
        }

    def refusal(self, method: str, target: str, headers: Mapping[str, str]) -> Refusal | None:
        account, _, signature = headers["authorization"].removeprefix("SharedKey ").partition(":")
        names = (
            "content-encoding", "content-language", "content-length", "content-md5",
            "content-type", "date", "if-modified-since", "if-match", "if-none-match",
            "if-unmodified-since", "range",
        )  # fmt: skip
        parts = urlsplit(target)
        extra = sorted(name for name in headers if name.startswith("x-ms-"))
        text = "\n".join(
            [
                method,
                # A length of nought is signed as an empty text (since version 2015-02-21).
                *["" if headers.get(name) == "0" else headers.get(name, "") for name in names],
                *[f"{name}:{headers[name]}" for name in extra],
                f"/{account}{parts.path}",
                *[f"{k.lower()}:{v}" for k, v in sorted(parse_qsl(parts.query))],
            ]
        )
        key = base64.b64decode(self.secret["account_key"])
        target_value = base64.b64encode(
            hmac.new(key, text.encode(), hashlib.sha256).digest()
        ).decode()
        matches = account == ACCOUNT and hmac.compare_digest(target_value, signature)
        return None if matches else Refusal(403, "AuthenticationFailed")


@cache
def _rsa_key() -> rsa.RSAPrivateKey:
    # Once for all servers: it takes longer than everything else here.
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
