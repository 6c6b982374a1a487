"""What can go wrong with an archive behind an address, as failures in the user's values."""

from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import shown
from controlplane.sources.failures import SourceFailure, of_checkpoint, of_configuration, of_machine


def wrong_address(checkpoint: CheckpointRepository) -> SourceFailure:
    """Return the failure for an address of another form."""
    return _configuration(
        "EUR-URI",
        f"`{shown(checkpoint.repo)}` is not an address that a checkpoint can come from.",
        "Write the `https://` address of a tar or tar.gz, without a login in it.",
    )


def private_address(url: str, host: str) -> SourceFailure:
    """Return the failure for an address inside this machine or its network."""
    return _configuration(
        "EUR-PRIVATE",
        f"`{shown(url)}` leads to this machine or to a private network (`{host}`), where "
        "archives are not fetched from.",
        "Use a public address, a bucket or `LOCAL`. The operator can allow private addresses with "
        "ALLOW_PRIVATE_ADDRESSES.",
    )


def bad_redirect(url: str, reason: str) -> SourceFailure:
    """Return the failure for an address that leads on to where we do not follow."""
    return _configuration(
        "EUR-REDIRECT",
        f"`{shown(url)}` {reason}.",
        "Name the address of the archive itself.",
    )


def denied(url: str, status: int) -> SourceFailure:
    """Return the failure for an address that wants a login, or another signature."""
    return _configuration(
        "EUR-DENIED",
        f"`{shown(url)}` may not be read (HTTP {status}).",
        "A signed address may have expired: make a new one. Addresses that want a login cannot be "
        "used; a bucket source with a secret can.",
    )


def missing(url: str, status: int) -> SourceFailure:
    """Return the failure for an address where there is nothing."""
    return _configuration(
        "EUR-NOT-FOUND",
        f"There is nothing at `{shown(url)}` (HTTP {status}).",
        "Check the spelling of the address, and whether the archive is still there.",
    )


def refused(url: str, status: int) -> SourceFailure:
    """Return the failure for any other answer that is not the archive."""
    return _configuration(
        "EUR-REFUSED",
        f"`{shown(url)}` was answered with HTTP {status} instead of the archive.",
        "Try the address with another client, such as curl, from the build worker's machine.",
    )


def not_an_archive(url: str, reason: str) -> SourceFailure:
    """Return the failure for bytes that are no tar archive, or a damaged one."""
    return of_checkpoint(
        "EUR-NOT-AN-ARCHIVE",
        f"What lies at `{shown(url)}` cannot be unpacked: {reason}.",
        "Make it with `tar -czf model.tar.gz -C folder .` and upload it again.",
    )


def unsafe(url: str, reason: str) -> SourceFailure:
    """Return the failure for an archive with something in it that is never unpacked."""
    return of_checkpoint(
        "EUR-UNSAFE",
        f"The archive at `{shown(url)}` {reason}. It was not unpacked.",
        "Make it of plain files alone: `tar --dereference -czf model.tar.gz -C folder .`",
    )


def too_large(url: str, reason: str) -> SourceFailure:
    """Return the failure for an archive that would unpack to more than it may."""
    return of_checkpoint(
        "EUR-TOO-LARGE",
        f"The archive at `{shown(url)}` would unpack to {reason}, which no checkpoint of "
        "its size does. It was not unpacked.",
        "Pack the checkpoint's own folder and nothing else.",
    )


def changed(url: str, expected: str, found: str) -> SourceFailure:
    """Return the failure for an archive that is no longer the one that was pinned."""
    return of_checkpoint(
        "EUR-CHANGED",
        f"The archive at `{shown(url)}` has changed since it was checked: it was "
        f"`{expected}` and is `{found}`.",
        "Check the config again, then build.",
    )


def late_config(url: str, read_bytes: int) -> SourceFailure:
    """Return the failure for an archive whose `config.json` comes too late to be read for facts."""
    return of_checkpoint(
        "EUR-FACTS",
        f"The first {read_bytes / 1e6:,.0f} MB of the archive at `{shown(url)}` hold no "
        "`config.json`, so the checks cannot be made before the download.",
        "Pack the small files first: `tar -cf model.tar -C folder config.json .` is enough, or "
        "`tar --sort=name`. A bucket source needs no order.",
    )


def offline(url: str, detail: str) -> SourceFailure:
    """Return the failure for an address that cannot be reached."""
    return of_machine(
        "EUR-OFFLINE",
        f"`{shown(url)}` cannot be reached from this machine.",
        "Check the address, the network and the proxy.",
        detail,
    )


def timed_out(url: str) -> SourceFailure:
    """Return the failure for a server that stopped answering."""
    return of_machine(
        "EUR-TIMEOUT",
        f"The server of `{shown(url)}` stopped answering.",
        "Retry: what was fetched so far is kept. If it persists, check the network and proxy.",
    )


def rate_limited(url: str) -> SourceFailure:
    """Return the failure for a server that wants fewer requests."""
    return of_machine(
        "EUR-RATE-LIMIT",
        f"The server of `{shown(url)}` allows no more requests for now (HTTP 429).",
        "Retry later: what was fetched so far is kept.",
    )


def unavailable(url: str, status: int) -> SourceFailure:
    """Return the failure for a server with trouble of its own."""
    return of_machine(
        "EUR-UNAVAILABLE",
        f"The server of `{shown(url)}` answered HTTP {status}.",
        "Retry later: what was fetched so far is kept.",
    )


def broken_off(url: str) -> SourceFailure:
    """Return the failure for a download that broke off again and again."""
    return of_machine(
        "EUR-BROKEN",
        f"The server of `{shown(url)}` broke off while sending, several times.",
        "Retry: what was fetched so far is kept where the server can go on from there.",
    )


def _configuration(code: str, sentence: str, hint: str) -> SourceFailure:
    return of_configuration(code, sentence, "repo", hint)
