from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine

URI = configuration(
    "EUR-URI",
    "`{url}` is not an address that a checkpoint can come from.",
    "Write the `https://` address of a tar or tar.gz, without a login in it.",
    field=fields.REPO,
)
PRIVATE = configuration(
    "EUR-PRIVATE",
    "`{url}` leads to this machine or to a private network (`{host}`), where archives are not "
    "fetched from.",
    "Use a public address, a bucket or `LOCAL`. The operator can allow private addresses with "
    "ALLOW_PRIVATE_ADDRESSES.",
    field=fields.REPO,
)
REDIRECT = configuration(
    "EUR-REDIRECT",
    "`{url}` {reason}.",
    "Name the address of the archive itself.",
    field=fields.REPO,
)
DENIED = configuration(
    "EUR-DENIED",
    "`{url}` may not be read (HTTP {status}).",
    "A signed address may have expired: make a new one. Addresses that want a login cannot be "
    "used; a bucket source with a secret can.",
    field=fields.REPO,
)
NOT_FOUND = configuration(
    "EUR-NOT-FOUND",
    "There is nothing at `{url}` (HTTP {status}).",
    "Check the spelling of the address, and whether the archive is still there.",
    field=fields.REPO,
)
REFUSED = configuration(
    "EUR-REFUSED",
    "`{url}` was answered with HTTP {status} instead of the archive.",
    "Try the address with another client, such as curl, from the build worker's machine.",
    field=fields.REPO,
)
NOT_AN_ARCHIVE = checkpoint(
    "EUR-NOT-AN-ARCHIVE",
    "What lies at `{url}` cannot be unpacked: {reason}.",
    "Make it with `tar -czf model.tar.gz -C folder .` and upload it again.",
    field=fields.REPO,
)
UNSAFE = checkpoint(
    "EUR-UNSAFE",
    "The archive at `{url}` {reason}. It was not unpacked.",
    "Make it of plain files alone: `tar --dereference -czf model.tar.gz -C folder .`",
    field=fields.REPO,
)
TOO_LARGE = checkpoint(
    "EUR-TOO-LARGE",
    "The archive at `{url}` would unpack to {reason}, which no checkpoint of its size does. It was "
    "not unpacked.",
    "Pack the checkpoint's own folder and nothing else.",
    field=fields.REPO,
)
CHANGED = checkpoint(
    "EUR-CHANGED",
    "The archive at `{url}` has changed since it was checked: it was `{expected}` and is "
    "`{found}`.",
    "Check the config again, then build.",
    field=fields.REPO,
)
LATE_CONFIG = checkpoint(
    "EUR-FACTS",
    "The first {read_megabytes:,.0f} MB of the archive at `{url}` hold no `config.json`, so the "
    "checks cannot be made before the download.",
    "Pack the small files first: `tar -cf model.tar -C folder config.json .` is enough, or `tar "
    "--sort=name`. A bucket source needs no order.",
    field=fields.REPO,
)
OFFLINE = machine(
    "EUR-OFFLINE",
    "`{url}` cannot be reached from this machine.",
    "Check the address, the network and the proxy.",
)
TIMEOUT = machine(
    "EUR-TIMEOUT",
    "The server of `{url}` stopped answering.",
    "Retry: what was fetched so far is kept. If it persists, check the network and proxy.",
)
RATE_LIMIT = machine(
    "EUR-RATE-LIMIT",
    "The server of `{url}` allows no more requests for now (HTTP 429).",
    "Retry later: what was fetched so far is kept.",
)
UNAVAILABLE = machine(
    "EUR-UNAVAILABLE",
    "The server of `{url}` answered HTTP {status}.",
    "Retry later: what was fetched so far is kept.",
)
BROKEN = machine(
    "EUR-BROKEN",
    "The server of `{url}` broke off while sending, several times.",
    "Retry: what was fetched so far is kept where the server can go on from there.",
)
