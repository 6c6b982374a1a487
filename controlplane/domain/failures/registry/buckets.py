"""S3, Google Cloud Storage, Azure."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine

BUCKETS = ("ES3", "EGC", "EAZ")
_KEPT = "Retry later: what was fetched so far is kept."

URI = configuration(
    "URI",
    "`{repo}` does not name a checkpoint of source `{source}`.",
    "Write it as `{form}`.",
    field=fields.REPO, of=BUCKETS,
)  # fmt: skip
SECRET = configuration(
    "SECRET",
    "The secret `{secret}` holds no login to {store}: {reason}.",
    "Store {wanted} under that name, or name another secret.",
    field=fields.SECRET, of=BUCKETS,
)  # fmt: skip
NO_ACCOUNT = configuration(
    "NO-ACCOUNT",
    "`{repo}` names a container, and nothing names its storage account.",
    "Add `account_name` beside `account_key` in the secret, or ask the operator to set "
    "AZURE_ACCOUNT.",
    field=fields.SECRET, of=("EAZ",),
)  # fmt: skip
SETUP = machine(
    "SETUP",
    "The client for `{repo}` could not be set up on this machine.",
    "Unset GOOGLE_ and AZURE_ variables in the environment of the workers, and those of AWS_ that "
    "docs/settings.md does not name; logins come from secrets alone.",
    of=BUCKETS,
)
DENIED = configuration(
    "DENIED",
    "{place} does not let {login} read `{repo}` ({reason}).",
    "Give that login {read_access}.",
    field=fields.SECRET, of=BUCKETS,
)  # fmt: skip
DENIED_WITHOUT_SECRET = configuration(
    "DENIED",
    "{place} does not let {login} read `{repo}` ({reason}).",
    "Name a secret in `runtime_secret_name` that holds {wanted}, and list it under `secrets`.",
    field=fields.SECRET, of=BUCKETS,
)  # fmt: skip
KEY = configuration(
    "KEY",
    "{place} does not accept {login} for `{repo}` ({reason}).",
    "Make a new key and store it as `{secret}`.",
    field=fields.SECRET, of=BUCKETS,
)  # fmt: skip
EXPIRED = configuration(
    "EXPIRED",
    "{place} says that the login in secret `{secret}` has expired; `{repo}` was not read.",
    "Store a new one. A login without an end outlives long builds: a user's key, not the session "
    "token of a role.",
    field=fields.SECRET, of=BUCKETS,
)  # fmt: skip
CLOCK = machine(
    "CLOCK",
    "{place} refused to answer for `{repo}`: the clock of this machine is wrong.",
    "Set the clock of the build worker (NTP), then retry.",
    of=BUCKETS,
)
REGION = configuration(
    "REGION",
    "The {bucket} of `{repo}` lies in {region}, and was asked for at {place}.",
    "Set {setting} to {wanted}; a store of your own has the region of its configuration.",
    field=fields.SECRET, of=BUCKETS,
)  # fmt: skip
NO_BUCKET = configuration(
    "NO-BUCKET",
    "{place} has no {bucket} as in `{repo}`.",
    "Check the spelling, and {endpoint_setting} where the store is your own.",
    field=fields.REPO, of=BUCKETS,
)  # fmt: skip
NOT_FOUND = configuration(
    "NOT-FOUND",
    "Nothing lies under `{repo}` at {place}.",
    "Check the path: it is the folder that holds `config.json`, without the file's name. Paths in "
    "a {bucket} tell capitals from small letters.",
    field=fields.REPO, of=BUCKETS,
)  # fmt: skip
TOO_MANY = configuration(
    "TOO-MANY",
    "More than {most:,} objects lie under `{repo}`.",
    "Name the folder of the one checkpoint, the one that holds `config.json`.",
    field=fields.REPO, of=BUCKETS,
)  # fmt: skip
ARCHIVED = checkpoint(
    "ARCHIVED",
    "Files of `{repo}` are in an archive class, from which {place} does not serve them.",
    "Restore them to a standard class first, then retry.",
    field=fields.REPO, of=BUCKETS,
)  # fmt: skip
CHANGED = checkpoint(
    "CHANGED",
    "`{repo}` has changed since it was checked: {what}.",
    "Check the config again, then build, once nothing writes to that folder.",
    field=fields.REPO, of=BUCKETS,
)  # fmt: skip
OFFLINE = machine(
    "OFFLINE",
    "{place} cannot be reached from this machine, so `{repo}` was not fetched.",
    "Check the network and {endpoint_setting}, or copy the checkpoint into a folder of "
    "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
    of=BUCKETS,
)
TIMEOUT = machine(
    "TIMEOUT",
    "{place} stopped answering while `{repo}` was being fetched.",
    "Retry: what was fetched so far is kept. If it persists, check the network and proxy.",
    of=BUCKETS,
)
RATE_LIMIT = machine(
    "RATE-LIMIT",
    "{place} allows no more requests for now, asked for `{repo}`.",
    _KEPT,
    of=BUCKETS,
)
UNAVAILABLE = machine(
    "UNAVAILABLE", "{place} answered HTTP {status} for `{repo}`.", _KEPT, of=BUCKETS
)
NOT_A_STORE = machine(
    "NOT-A-STORE",
    "{place} does not answer like {store} when asked for `{repo}`.",
    "Check {endpoint_setting}, and whether a proxy or sign-in page answers in its place.",
    of=BUCKETS,
)
BROKEN = machine(
    "BROKEN",
    "{place} broke off while sending `{file}` of `{repo}`, several times.",
    "Retry: what was fetched so far is kept.",
    of=BUCKETS,
)
CORRUPT = machine(
    "CORRUPT",
    "`{file}` of `{repo}` arrived as something else than {place} lists: `{found}` where "
    "`{expected}` was expected.",
    "Retry. If it persists, a proxy between here and the store alters files.",
    of=BUCKETS,
)
