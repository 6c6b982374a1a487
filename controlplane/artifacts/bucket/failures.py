"""What the bucket of the artifacts can answer, or fail to, as failures in the operator's values."""

from typing import TYPE_CHECKING, Any

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import artifacts

if TYPE_CHECKING:
    from controlplane.artifacts.bucket.address import Address


def no_login(url: str, missing: str) -> ArtifactFailure:
    return ArtifactFailure.of(artifacts.NO_LOGIN, url=url, variable=missing, field=missing)


def unprintable(name: str) -> ArtifactFailure:
    return ArtifactFailure.of(artifacts.UNPRINTABLE, variable=name, field=name)


def no_bucket(address: "Address") -> ArtifactFailure:
    setting = "AWS_ENDPOINT_URL" if address.is_own else "AWS_REGION"
    return bucket_failure(artifacts.NO_BUCKET, address, setting=setting)


def wrong_region(address: "Address", region: str | None) -> ArtifactFailure:
    where = f"region `{region}`" if region else "another region"
    actual_region = f"`{region}`" if region else "the region of the bucket"
    return bucket_failure(artifacts.REGION, address, where=where, wanted=actual_region)


def offline(address: "Address", detail: str) -> ArtifactFailure:
    setting = "AWS_ENDPOINT_URL" if address.is_own else "the proxy"
    return bucket_failure(artifacts.OFFLINE, address, setting=setting, detail=detail)


def bucket_failure(kind: FailureKind, address: "Address", **values: Any) -> ArtifactFailure:
    return ArtifactFailure.of(
        kind,
        url=address.url,
        endpoint=address.endpoint,
        bucket=address.bucket,
        region=address.region,
        **values,
    )
