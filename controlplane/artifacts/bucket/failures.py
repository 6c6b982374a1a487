"""What the bucket of the artifacts can answer, or fail to, as failures in the operator's values."""

from typing import TYPE_CHECKING, Any

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import artifacts

if TYPE_CHECKING:
    from controlplane.artifacts.bucket.address import Address


def wrong_url(url: str) -> ArtifactFailure:
    """Return the failure for an address that names no bucket; a login in it is left out."""
    return ArtifactFailure(artifacts.WRONG_URL.failure(url=url))


def wrong_endpoint(endpoint: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.WRONG_ENDPOINT.failure(endpoint=endpoint))


def wrong_region_name(region: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.REGION_NAME.failure(region=region))


def no_login(url: str, missing: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.NO_LOGIN.failure(url=url, variable=missing, field=missing))


def unprintable(name: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.UNPRINTABLE.failure(variable=name, field=name))


def no_role(address: "Address", detail: str) -> ArtifactFailure:
    return _of(artifacts.NO_ROLE, address, detail=detail)


def wrong_login(address: "Address", reason: str) -> ArtifactFailure:
    return _of(artifacts.WRONG_LOGIN, address, reason=reason)


def denied(address: "Address", reason: str) -> ArtifactFailure:
    return _of(artifacts.DENIED, address, reason=reason)


def no_bucket(address: "Address") -> ArtifactFailure:
    setting = "AWS_ENDPOINT_URL" if address.is_own else "AWS_REGION"
    return _of(artifacts.NO_BUCKET, address, setting=setting)


def wrong_region(address: "Address", region: str | None) -> ArtifactFailure:
    where = f"region `{region}`" if region else "another region"
    wanted = f"`{region}`" if region else "the region of the bucket"
    return _of(artifacts.REGION, address, where=where, wanted=wanted)


def wrong_clock(address: "Address") -> ArtifactFailure:
    return _of(artifacts.CLOCK, address)


def full(address: "Address", reason: str) -> ArtifactFailure:
    return _of(artifacts.BUCKET_FULL, address, reason=reason)


def offline(address: "Address", detail: str) -> ArtifactFailure:
    setting = "AWS_ENDPOINT_URL" if address.is_own else "the proxy"
    return _of(artifacts.OFFLINE, address, setting=setting, detail=detail)


def untrusted(address: "Address") -> ArtifactFailure:
    return _of(artifacts.CERTIFICATE, address)


def timed_out(address: "Address") -> ArtifactFailure:
    return _of(artifacts.TIMEOUT, address)


def broken_off(address: "Address") -> ArtifactFailure:
    return _of(artifacts.BROKEN_OFF, address)


def busy(address: "Address", reason: str) -> ArtifactFailure:
    return _of(artifacts.BUSY, address, reason=reason)


def not_a_store(address: "Address", detail: str) -> ArtifactFailure:
    return _of(artifacts.NOT_A_STORE, address, detail=detail)


def _of(kind: FailureKind, address: "Address", **values: Any) -> ArtifactFailure:
    return ArtifactFailure(
        kind.failure(
            url=address.url,
            endpoint=address.endpoint,
            bucket=address.bucket,
            region=address.region,
            **values,
        )
    )
