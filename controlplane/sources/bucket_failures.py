"""What a bucket can answer, or fail to, as failures in the user's values."""

from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bucket_words import WORDS, Asked
from controlplane.sources.failures import (
    SourceFailure,
    code_prefix,
    of_checkpoint,
    of_configuration,
    of_machine,
)


def wrong_form(checkpoint: CheckpointRepository, form: str) -> SourceFailure:
    """Return the failure for a `repo` that does not name a place of its source."""
    return _configuration(
        checkpoint,
        "URI",
        f"`{checkpoint.repo}` does not name a checkpoint of source `{checkpoint.source}`.",
        "repo",
        f"Write it as `{form}`.",
    )


def wrong_secret(checkpoint: CheckpointRepository, reason: str) -> SourceFailure:
    """Return the failure for a secret that holds no login to this store."""
    words = WORDS[checkpoint.source]
    return _configuration(
        checkpoint,
        "SECRET",
        f"The secret `{checkpoint.runtime_secret_name}` holds no login to {words.name}: {reason}.",
        "runtime_secret_name",
        f"Store {words.secret} under that name, or name another secret.",
    )


def no_account(checkpoint: CheckpointRepository) -> SourceFailure:
    """Return the failure for a container of nobody knows which storage account."""
    return _configuration(
        checkpoint,
        "NO-ACCOUNT",
        f"`{checkpoint.repo}` names a container, and nothing names its storage account.",
        "runtime_secret_name",
        "Add `account_name` beside `account_key` in the secret, or ask the operator to set "
        "AZURE_ACCOUNT.",
    )


def unopened(checkpoint: CheckpointRepository, detail: str) -> SourceFailure:
    """Return the failure for a client that the environment of this process contradicts."""
    return of_machine(
        f"{code_prefix(checkpoint)}-SETUP",
        f"The client for `{checkpoint.repo}` could not be set up on this machine.",
        "Unset GOOGLE_ and AZURE_ variables in the environment of the workers, and those of AWS_ "
        "that docs/settings.md does not name; logins come from secrets alone.",
        detail,
    )


def denied(asked: Asked, reason: str) -> SourceFailure:
    """Return the failure for a bucket that this login may not read."""
    if asked.has_secret:
        hint = f"Give that login {asked.words.read_access}."
    else:
        hint = (
            f"Name a secret in `runtime_secret_name` that holds {asked.words.secret}, and list it "
            "under `secrets`."
        )
    return _configuration(
        asked.checkpoint,
        "DENIED",
        f"{asked.place} does not let {asked.login} read `{asked.repo}` ({reason}).",
        "runtime_secret_name",
        hint,
    )


def wrong_key(asked: Asked, reason: str) -> SourceFailure:
    """Return the failure for a login that the store does not know."""
    return _configuration(
        asked.checkpoint,
        "KEY",
        f"{asked.place} does not accept {asked.login} for `{asked.repo}` ({reason}).",
        "runtime_secret_name",
        f"Make a new key and store it as `{asked.checkpoint.runtime_secret_name}`.",
    )


def expired(asked: Asked) -> SourceFailure:
    """Return the failure for a login that was good for a while only."""
    return _configuration(
        asked.checkpoint,
        "EXPIRED",
        f"The login in secret `{asked.checkpoint.runtime_secret_name}` has expired, says "
        f"{asked.place}, asked for `{asked.repo}`.",
        "runtime_secret_name",
        "Store a new one. A login without an end outlives long builds: a user's key, not the "
        "session token of a role.",
    )


def wrong_clock(asked: Asked) -> SourceFailure:
    """Return the failure for a machine whose clock differs from the store's."""
    return _machine(
        asked,
        "CLOCK",
        f"{asked.place} refused to answer for `{asked.repo}`: the clock of this machine is wrong.",
        "Set the clock of the build worker (NTP), then retry.",
    )


def wrong_region(asked: Asked, region: str | None) -> SourceFailure:
    """Return the failure for a bucket that lives in another region."""
    told = f"lies in region `{region}`" if region else "lies in another region"
    wanted = f"`{region}`" if region else "the region that its page in the console shows"
    secret = asked.checkpoint.runtime_secret_name
    where = f"`aws_region` in the secret `{secret}`" if asked.has_secret else "S3_REGION"
    return _configuration(
        asked.checkpoint,
        "REGION",
        f"The {asked.words.bucket} of `{asked.repo}` {told}, and was asked for at {asked.place}.",
        "runtime_secret_name",
        f"Set {where} to {wanted}; a store of your own has the region of its configuration.",
    )


def missing_bucket(asked: Asked) -> SourceFailure:
    """Return the failure for a bucket that does not exist."""
    return _configuration(
        asked.checkpoint,
        "NO-BUCKET",
        f"{asked.place} has no {asked.words.bucket} as in `{asked.repo}`.",
        "repo",
        f"Check the spelling, and {asked.words.endpoint_setting} where the store is your own.",
    )


def missing_folder(asked: Asked) -> SourceFailure:
    """Return the failure for a path under which nothing lies."""
    return _configuration(
        asked.checkpoint,
        "NOT-FOUND",
        f"Nothing lies under `{asked.repo}` at {asked.place}.",
        "repo",
        f"Check the path: it is the folder that holds `config.json`, without the file's name. "
        f"Paths in a {asked.words.bucket} tell capitals from small letters.",
    )


def too_many(asked: Asked, most: int) -> SourceFailure:
    """Return the failure for a folder with more objects than any checkpoint has."""
    return _configuration(
        asked.checkpoint,
        "TOO-MANY",
        f"More than {most:,} objects lie under `{asked.repo}`.",
        "repo",
        "Name the folder of the one checkpoint, the one that holds `config.json`.",
    )


def asleep(asked: Asked) -> SourceFailure:
    """Return the failure for objects that were moved to a class that is not served at once."""
    return _of_checkpoint(
        asked,
        "ARCHIVED",
        f"Files of `{asked.repo}` are in an archive class, from which {asked.place} does not "
        "serve them.",
        "Restore them to a standard class first, then retry.",
    )


def changed(asked: Asked, what: str) -> SourceFailure:
    """Return the failure for files that are no longer those that were pinned."""
    return _of_checkpoint(
        asked,
        "CHANGED",
        f"`{asked.repo}` has changed since it was checked: {what}.",
        "Check the config again, then build, once nothing writes to that folder.",
    )


def offline(asked: Asked, detail: str) -> SourceFailure:
    """Return the failure for a store that cannot be reached."""
    return _machine(
        asked,
        "OFFLINE",
        f"{asked.place} cannot be reached from this machine, so `{asked.repo}` was not fetched.",
        f"Check the network and {asked.words.endpoint_setting}, or copy the checkpoint into a "
        "folder of LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
        detail,
    )


def timed_out(asked: Asked) -> SourceFailure:
    """Return the failure for a store that stopped answering."""
    return _machine(
        asked,
        "TIMEOUT",
        f"{asked.place} stopped answering while `{asked.repo}` was being fetched.",
        "Retry: what was fetched so far is kept. If it persists, check the network and proxy.",
    )


def rate_limited(asked: Asked) -> SourceFailure:
    """Return the failure for a store that wants fewer requests."""
    return _machine(
        asked,
        "RATE-LIMIT",
        f"{asked.place} allows no more requests for now, asked for `{asked.repo}`.",
        "Retry later: what was fetched so far is kept.",
    )


def unavailable(asked: Asked, status: int) -> SourceFailure:
    """Return the failure for a store that answers with an error of its own."""
    return _machine(
        asked,
        "UNAVAILABLE",
        f"{asked.place} answered HTTP {status} for `{asked.repo}`.",
        "Retry later: what was fetched so far is kept.",
    )


def not_a_store(asked: Asked) -> SourceFailure:
    """Return the failure for an address where something else answers."""
    return _machine(
        asked,
        "NOT-A-STORE",
        f"{asked.place} does not answer like {asked.words.name} when asked for `{asked.repo}`.",
        f"Check {asked.words.endpoint_setting}, and whether a proxy or sign-in page answers in "
        "its place.",
    )


def broken_off(asked: Asked, path: str) -> SourceFailure:
    """Return the failure for a file whose download broke off again and again."""
    return _machine(
        asked,
        "BROKEN",
        f"{asked.place} broke off while sending `{path}` of `{asked.repo}`, several times.",
        "Retry: what was fetched so far is kept.",
    )


def corrupt(asked: Asked, path: str, expected: str, found: str) -> SourceFailure:
    """Return the failure for a file that arrived, twice, as something else."""
    return _machine(
        asked,
        "CORRUPT",
        f"`{path}` of `{asked.repo}` arrived as something else than {asked.place} lists: "
        f"`{found}` where `{expected}` was expected.",
        "Retry. If it persists, a proxy between here and the store alters files.",
    )


def _configuration(
    checkpoint: CheckpointRepository, code: str, sentence: str, field: str, hint: str
) -> SourceFailure:
    return of_configuration(f"{code_prefix(checkpoint)}-{code}", sentence, field, hint)


def _of_checkpoint(asked: Asked, code: str, sentence: str, hint: str) -> SourceFailure:
    return of_checkpoint(f"{code_prefix(asked.checkpoint)}-{code}", sentence, hint)


def _machine(
    asked: Asked, code: str, sentence: str, hint: str, detail: str | None = None
) -> SourceFailure:
    return of_machine(f"{code_prefix(asked.checkpoint)}-{code}", sentence, hint, detail)
