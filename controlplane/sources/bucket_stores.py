"""Clients of S3, Google Cloud Storage and Azure Blob Storage, each for one bucket and one login.

The client would read what is missing from the process's environment, and ask the machine's own
identity for a login. Neither is the user's: so everything is said, and no secret means no login.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from controlplane.domain.failures.registry import buckets
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import SCHEMES, BucketFolder, bucket_folder
from controlplane.sources import bucket_secrets as secrets
from controlplane.sources.bucket_failures import setup_failure, wrong_form
from controlplane.sources.options import SourceOptions

if TYPE_CHECKING:
    from obstore.store import (
        AzureConfig,
        ClientConfig,
        GCSConfig,
        RetryConfig,
        S3Credential,
    )

Store = S3Store | GCSStore | AzureStore

# Retrying is ours: a file goes on where it stopped, whatever stopped it.
_NO_RETRIES: "RetryConfig" = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}
_NOBODY = {"client_email": "", "private_key": "", "private_key_id": ""}
_FOREVER = timedelta(days=365)


@dataclass(frozen=True, kw_only=True)
class OpenedStore:
    store: Store
    folder: BucketFolder
    place: str
    """The endpoint, as failures name it."""
    has_secret: bool


def open_store(
    checkpoint: CheckpointRepository, *, secret: str | None, options: SourceOptions
) -> OpenedStore:
    """Return a client for the bucket that a checkpoint lies in. Raises SourceFailure."""
    folder = bucket_folder(checkpoint.source, checkpoint.repo)
    if folder is None:
        scheme = SCHEMES[checkpoint.source]
        form = f"{scheme}://{'container' if scheme == 'az' else 'bucket'}/path"
        raise wrong_form(checkpoint, form)
    try:
        place, store = _OPENERS[checkpoint.source](checkpoint, folder.name, secret, options)
    except BaseError as error:
        raise setup_failure(
            buckets.SETUP, checkpoint, detail=str(error).partition("\n")[0]
        ) from None
    return OpenedStore(store=store, folder=folder, place=place, has_secret=secret is not None)


def _open_s3(
    checkpoint: CheckpointRepository, bucket: str, secret: str | None, options: SourceOptions
) -> tuple[str, Store]:
    keys = secrets.s3_keys(checkpoint, secret) if secret is not None else None
    region = (keys.region if keys else None) or options.s3_region
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    place = options.s3_endpoint or f"https://s3.{region}.{domain}"
    store = S3Store(
        bucket,
        config={
            "region": region,
            "endpoint": place,
            "aws_endpoint_url_s3": place,
            "virtual_hosted_style_request": False,
            "skip_signature": keys is None,
            "s3_express": False,
            "request_payer": False,
            # Not every store that speaks S3 can delete many at once.
            "disable_bulk_delete": True,
        },
        client_options=_client_options(place, options),
        retry_config=_NO_RETRIES,
        # Not as settings: a session token of the environment would be added to them.
        credential_provider=_S3Login(keys) if keys else None,
    )
    return place, store


def _open_gcs(
    checkpoint: CheckpointRepository, bucket: str, secret: str | None, options: SourceOptions
) -> tuple[str, Store]:
    place = options.gcs_endpoint or "https://storage.googleapis.com"
    account = secrets.service_account(checkpoint, secret) if secret is not None else None
    # Without a login too, or the client looks for one of the machine.
    login = asdict(account) if account else {**_NOBODY, "disable_oauth": True}
    config: GCSConfig = {
        "base_url": place,
        "skip_signature": account is None,
        "service_account_key": json.dumps({**login, "gcs_base_url": place}),
    }
    store = GCSStore(
        bucket,
        config=config,
        client_options=_client_options(place, options),
        retry_config=_NO_RETRIES,
    )
    return place, store


def _open_azure(
    checkpoint: CheckpointRepository, container: str, secret: str | None, options: SourceOptions
) -> tuple[str, Store]:
    key = secrets.account_key(checkpoint, secret) if secret is not None else None
    account = (key.account_name if key else None) or options.azure_account
    if account is None:
        raise setup_failure(buckets.NO_ACCOUNT, checkpoint)
    place = options.azure_endpoint or f"https://{account}.blob.core.windows.net"
    config: AzureConfig = {
        "account_name": account,
        "endpoint": place,
        "skip_signature": key is None,
        "use_emulator": False,
        "use_fabric_endpoint": False,
    }
    if key is not None:
        config |= {"account_key": key.account_key, "credential_type": "access_key"}
    store = AzureStore(
        container,
        config=config,
        client_options=_client_options(place, options),
        retry_config=_NO_RETRIES,
    )
    return place, store


class _S3Login:
    def __init__(self, keys: secrets.S3Keys) -> None:
        self._keys = keys

    def __call__(self) -> "S3Credential":
        return {
            "access_key_id": self._keys.access_key_id,
            "secret_access_key": self._keys.secret_access_key,
            "token": self._keys.session_token,
            "expires_at": None,
        }


_OPENERS: Mapping[
    CheckpointSource,
    Callable[[CheckpointRepository, str, str | None, SourceOptions], tuple[str, Store]],
] = {
    CheckpointSource.S3: _open_s3,
    CheckpointSource.GCS: _open_gcs,
    CheckpointSource.AZURE: _open_azure,
}


def _client_options(place: str, options: SourceOptions) -> "ClientConfig":
    silence = timedelta(seconds=options.timeout_seconds)
    return {
        "allow_http": urlsplit(place).scheme == "http",
        "connect_timeout": silence,
        "read_timeout": silence,
        # It would count the whole body of a file, however large.
        "timeout": _FOREVER,
        "user_agent": "enginehouse",
    }
