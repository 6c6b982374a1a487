"""What the bucket of the artifacts can answer, or fail to, as failures in the operator's values."""

from typing import TYPE_CHECKING

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures import Blame, Failure

if TYPE_CHECKING:
    from controlplane.artifacts.bucket.address import Address

_RIGHTS = (
    "`s3:ListBucket` on the bucket, and `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject` on "
    "its objects"
)
_RETRY = "Retry: what has arrived there is kept."


def wrong_url(url: str) -> ArtifactFailure:
    """Return the failure for an address that names no bucket; a login in it is left out."""
    return _configuration(
        "EHA-UNSUPPORTED",
        f"`{url}` does not name a bucket.",
        "ARTIFACT_URL",
        "Write it as `s3://bucket/prefix`; keys go into AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, the address of a store of your own into AWS_ENDPOINT_URL.",
    )


def wrong_endpoint(endpoint: str) -> ArtifactFailure:
    """Return the failure for an endpoint that no request can be sent to."""
    return _configuration(
        "EHA-UNSUPPORTED",
        f"`{endpoint}` is not an address of an object store.",
        "AWS_ENDPOINT_URL",
        "Write it as `https://host:port`, without a login and without the bucket.",
    )


def wrong_region_name(region: str) -> ArtifactFailure:
    """Return the failure for a region that cannot be one."""
    return _configuration(
        "EHA-REGION",
        f"`{region}` is not the name of a region.",
        "AWS_REGION",
        "Write it as the bucket's page in the console does, such as `eu-central-1`.",
    )


def no_login(url: str, missing: str) -> ArtifactFailure:
    """Return the failure for a host that was given no keys, or half of them."""
    return _configuration(
        "EHA-LOGIN",
        f"Nothing signs the requests to `{url}`: {missing} is not set on this host.",
        missing,
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the files that hold them in "
        "AWS_ACCESS_KEY_ID_FILE and AWS_SECRET_ACCESS_KEY_FILE.",
    )


def unprintable(name: str) -> ArtifactFailure:
    """Return the failure for a key with characters that no key has."""
    return _configuration(
        "EHA-LOGIN",
        f"{name} has characters that cannot be in it, such as a blank or a line's end.",
        name,
        "Copy it anew.",
    )


def no_role(address: "Address", detail: str) -> ArtifactFailure:
    """Return the failure for a machine whose own role gave no login."""
    return _configuration(
        "EHA-LOGIN",
        f"No keys are set on this host, and its role gave none for `{address.url}`.",
        "AWS_ACCESS_KEY_ID",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role that may "
        "use the bucket.",
        detail,
    )


def wrong_login(address: "Address", reason: str) -> ArtifactFailure:
    """Return the failure for keys that the store does not know."""
    return _configuration(
        "EHA-LOGIN",
        f"{address.endpoint} does not accept this host's keys for `{address.url}` ({reason}).",
        "AWS_ACCESS_KEY_ID",
        "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of this host; a "
        "session token ends.",
    )


def denied(address: "Address", reason: str) -> ArtifactFailure:
    """Return the failure for keys that may not do what was asked."""
    return _configuration(
        "EHA-DENIED",
        f"{address.endpoint} does not let this host's keys use `{address.url}` ({reason}).",
        "AWS_ACCESS_KEY_ID",
        f"Give them {_RIGHTS}.",
    )


def no_bucket(address: "Address") -> ArtifactFailure:
    """Return the failure for a bucket that does not exist."""
    own = "AWS_ENDPOINT_URL" if address.is_own else "AWS_REGION"
    return _configuration(
        "EHA-NO-BUCKET",
        f"{address.endpoint} has no bucket `{address.bucket}`.",
        "ARTIFACT_URL",
        f"Make the bucket, or check the spelling, and {own}.",
    )


def wrong_region(address: "Address", region: str | None) -> ArtifactFailure:
    """Return the failure for a bucket that lies in another region."""
    told = f"in region `{region}`" if region else "in another region"
    return _configuration(
        "EHA-REGION",
        f"The bucket `{address.bucket}` lies {told}, and was asked for in `{address.region}` at "
        f"{address.endpoint}.",
        "AWS_REGION",
        f"Set AWS_REGION to {f'`{region}`' if region else 'the region of the bucket'}; a store of "
        "your own has the region of its configuration.",
    )


def wrong_clock(address: "Address") -> ArtifactFailure:
    """Return the failure for a host whose clock differs from the store's."""
    return _machine(
        "EHA-CLOCK",
        f"{address.endpoint} refused to answer for `{address.url}`: the clock of this host differs "
        "from its own by more than a quarter of an hour.",
        "Set the clock of this host by NTP, then retry.",
    )


def full(address: "Address", reason: str) -> ArtifactFailure:
    """Return the failure for a store that takes no more."""
    return _machine(
        "EHA-DISK-FULL",
        f"{address.endpoint} has no room left for `{address.url}` ({reason}); nothing was "
        "published.",
        f"Free some space there, or raise the quota of the bucket. {_RETRY}",
    )


def offline(address: "Address", detail: str) -> ArtifactFailure:
    """Return the failure for a store that cannot be reached."""
    own = "AWS_ENDPOINT_URL" if address.is_own else "the proxy"
    return _machine(
        "EHA-OFFLINE",
        f"{address.endpoint}, which holds `{address.url}`, cannot be reached from this host.",
        f"Check the network between the two, and {own}. {_RETRY}",
        detail,
    )


def untrusted(address: "Address") -> ArtifactFailure:
    """Return the failure for a store whose certificate this host does not trust."""
    return _configuration(
        "EHA-CERTIFICATE",
        f"{address.endpoint}, which holds `{address.url}`, shows a certificate that this host does "
        "not trust.",
        "AWS_CA_BUNDLE",
        "Name a file with the certificate of the authority that signed it in AWS_CA_BUNDLE, and "
        "check that it names the host in AWS_ENDPOINT_URL and has not ended.",
    )


def timed_out(address: "Address") -> ArtifactFailure:
    """Return the failure for a store that stopped answering."""
    return _machine(
        "EHA-OFFLINE",
        f"{address.endpoint}, which holds `{address.url}`, has stopped answering this host.",
        f"Check the network between the two, and the store. {_RETRY}",
    )


def broken_off(address: "Address") -> ArtifactFailure:
    """Return the failure for a connection that ends again and again before its answer does."""
    return _machine(
        "EHA-OFFLINE",
        f"{address.endpoint} broke off in the middle of a file of `{address.url}`, several times.",
        f"Check the network between the two, and proxies on the way. {_RETRY}",
    )


def busy(address: "Address", reason: str) -> ArtifactFailure:
    """Return the failure for a store that wants fewer requests, or is in trouble."""
    return _machine(
        "EHA-BUSY",
        f"{address.endpoint}, asked for `{address.url}`, answered {reason} again and again.",
        f"Look after the store. {_RETRY}",
    )


def not_a_store(address: "Address", detail: str) -> ArtifactFailure:
    """Return the failure for an address where something else answers."""
    return _machine(
        "EHA-NOT-A-STORE",
        f"{address.endpoint} does not answer like an object store when asked for `{address.url}`.",
        "Check AWS_ENDPOINT_URL, and whether a proxy or another program answers in its place.",
        detail,
    )


def _configuration(
    code: str, sentence: str, field: str, hint: str, detail: str | None = None
) -> ArtifactFailure:
    blame = Blame.CONFIGURATION
    return ArtifactFailure(
        Failure(code=code, blame=blame, sentence=sentence, field=field, hint=hint, detail=detail)
    )


def _machine(code: str, sentence: str, hint: str, detail: str | None = None) -> ArtifactFailure:
    return ArtifactFailure(
        Failure(code=code, blame=Blame.MACHINE, sentence=sentence, hint=hint, detail=detail)
    )
