from controlplane.domain.failures.kind import checkpoint, configuration, machine

_RETRY = "Retry: what has arrived there is kept."
_RIGHTS = (
    "`s3:ListBucket` on the bucket, and `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject` on "
    "its objects"
)

UNSUPPORTED = configuration(
    "EHA-UNSUPPORTED",
    "`{url}` is not an artifact store this release can open.",
    "Set ARTIFACT_URL to a bucket, such as `s3://bucket/artifacts`, or to a folder that every host "
    "mounts, such as `file:///srv/enginehouse/artifacts`.",
    field="ARTIFACT_URL",
)
WRONG_URL = configuration(
    "EHA-UNSUPPORTED",
    "`{url}` does not name a bucket.",
    "Write it as `s3://bucket/prefix`; keys go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "the address of a store of your own into AWS_ENDPOINT_URL.",
    field="ARTIFACT_URL",
)
WRONG_ENDPOINT = configuration(
    "EHA-UNSUPPORTED",
    "`{endpoint}` is not an address of an object store.",
    "Write it as `https://host:port`, without a login and without the bucket.",
    field="AWS_ENDPOINT_URL",
)
UNREADABLE_FILE = configuration(
    "EHA-LOGIN",
    "{variable} names `{path}`, which cannot be read: {reason}.",
    "Mount the file where this process runs, readable to its user.",
)
NO_LOGIN = configuration(
    "EHA-LOGIN",
    "Nothing signs the requests to `{url}`: {variable} is not set on this host.",
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the files that hold them in "
    "AWS_ACCESS_KEY_ID_FILE and AWS_SECRET_ACCESS_KEY_FILE.",
)
UNPRINTABLE = configuration(
    "EHA-LOGIN",
    "{variable} has characters that cannot be in it, such as a blank or a line's end.",
    "Copy it anew.",
)
NO_ROLE = configuration(
    "EHA-LOGIN",
    "No keys are set on this host, and its role gave none for `{url}`.",
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role that may use the "
    "bucket.",
    field="AWS_ACCESS_KEY_ID",
)
WRONG_LOGIN = configuration(
    "EHA-LOGIN",
    "{endpoint} does not accept this host's keys for `{url}` ({reason}).",
    "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of this host; a session "
    "token ends.",
    field="AWS_ACCESS_KEY_ID",
)
DENIED = configuration(
    "EHA-DENIED",
    "{endpoint} does not let this host's keys use `{url}` ({reason}).",
    f"Give them {_RIGHTS}.",
    field="AWS_ACCESS_KEY_ID",
)
NO_BUCKET = configuration(
    "EHA-NO-BUCKET",
    "{endpoint} has no bucket `{bucket}`.",
    "Make the bucket, or check the spelling, and {setting}.",
    field="ARTIFACT_URL",
)
CERTIFICATE = configuration(
    "EHA-CERTIFICATE",
    "{endpoint}, which holds `{url}`, shows a certificate that this host does not trust.",
    "Name a file with the certificate of the authority that signed it in AWS_CA_BUNDLE, and check "
    "that it names the host in AWS_ENDPOINT_URL and has not expired.",
    field="AWS_CA_BUNDLE",
)
REGION_NAME = configuration(
    "EHA-REGION",
    "`{region}` is not the name of a region.",
    "Write it as the bucket's page in the console does, such as `eu-central-1`.",
    field="AWS_REGION",
)
REGION = configuration(
    "EHA-REGION",
    "The bucket `{bucket}` lies in {where}, and was asked for in `{region}` at {endpoint}.",
    "Set AWS_REGION to {wanted}; a store of your own has the region of its configuration.",
    field="AWS_REGION",
)
NAME = checkpoint(
    "EHA-NAME",
    "The checkpoint holds a file named `{name}`, which {reason}.",
    "Rename or remove that file in the checkpoint.",
)
MISSING = machine(
    "EHA-MISSING",
    "The artifact store holds nothing under `{digest}`.",
    "Check that ARTIFACT_URL names the same place on every host, or build again.",
)
MISSING_BLOB = machine(
    "EHA-MISSING",
    "The stored file `{path}` (sha256 `{sha256}`) is gone.",
    "Restore the artifact store from a backup, or build again.",
)
CORRUPT_BLOB = machine(
    "EHA-CORRUPT",
    "The stored file `{path}` has changed where it lies: its sha256 should be `{sha256}` and is "
    "`{found}`.",
    "Check the disk or the bucket behind ARTIFACT_URL, then build again: publishing replaces a "
    "damaged file.",
)
CORRUPT_MANIFEST = machine(
    "EHA-CORRUPT",
    "The stored list of files of `{digest}` has changed where it lies.",
    "Check the disk or the bucket behind ARTIFACT_URL, then build again.",
)
FORGETFUL = machine(
    "EHA-CORRUPT",
    "`{path}` was written to the store and did not come back as it was.",
    "Use a store that shows at once what was written to it, and check that nothing else removes "
    "files there.",
)
DISK_FULL = machine(
    "EHA-DISK-FULL",
    "The disk that holds `{folder}` is full; nothing was published.",
    "Free some space there, or point ARTIFACT_URL at a larger disk, and retry.",
)
BUCKET_FULL = machine(
    "EHA-DISK-FULL",
    "{endpoint} has no room left for `{url}` ({reason}); nothing was published.",
    f"Free some space there, or raise the quota of the bucket. {_RETRY}",
)
FOLDER_SILENT = machine(
    "EHA-OFFLINE",
    "`{url}` has not answered this host for {seconds:.0f} seconds.",
    "Check the network between the two, and the server that the folder is mounted from.",
)
OFFLINE = machine(
    "EHA-OFFLINE",
    "{endpoint}, which holds `{url}`, cannot be reached from this host.",
    "Check the network between the two, and {setting}. " + _RETRY,
)
TIMEOUT = machine(
    "EHA-OFFLINE",
    "{endpoint}, which holds `{url}`, has stopped answering this host.",
    f"Check the network between the two, and the store. {_RETRY}",
)
BROKEN_OFF = machine(
    "EHA-OFFLINE",
    "{endpoint} broke off in the middle of a file of `{url}`, several times.",
    f"Check the network between the two, and proxies on the way. {_RETRY}",
)
BUSY = machine(
    "EHA-BUSY",
    "{endpoint}, asked for `{url}`, answered {reason} again and again.",
    f"Look after the store. {_RETRY}",
)
UNWRITABLE = machine(
    "EHA-UNWRITABLE",
    "`{path}` cannot be written to: {reason}.",
    "Mount the folder behind ARTIFACT_URL on this host, and open it to the user of web process and "
    "workers.",
)
OTHER_OWNER = machine(
    "EHA-OTHER-OWNER",
    "The artifact store is that of installation `{owner}`, and this one is `{own}`: each would "
    "remove what its own database does not name. Nothing is removed from here.",
    "Set ARTIFACT_URL to a prefix or a folder of this installation's own. Where the other one is "
    "gone for good, remove `{file}` there: this one then takes the store over.",
)
CLOCK = machine(
    "EHA-CLOCK",
    "{endpoint} refused to answer for `{url}`: the clock of this host differs from its own by more "
    "than a quarter of an hour.",
    "Set the clock of this host by NTP, then retry.",
)
NOT_A_STORE = machine(
    "EHA-NOT-A-STORE",
    "{endpoint} does not answer like an object store when asked for `{url}`.",
    "Check AWS_ENDPOINT_URL, and whether a proxy or another program answers in its place.",
)
