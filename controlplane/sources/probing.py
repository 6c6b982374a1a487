"""Whether a secret opens what it should, asked of the source itself. No answer holds a value."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from controlplane.domain.secret_tests import ProbeAnswer, ProbeKind
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.sources import archive_http
from controlplane.sources.address_http import HTTP_ERRORS
from controlplane.sources.bearer import NO_TOKEN, bearer
from controlplane.sources.bucket import LISTED_AT_ONCE, Bucket
from controlplane.sources.failures import SourceFailure
from controlplane.sources.hub import Hub
from controlplane.sources.options import SourceOptions

_USUAL_FILE = "config.json"
_BUCKETS = {
    ProbeKind.S3: CheckpointSource.S3,
    ProbeKind.GCS: CheckpointSource.GCS,
    ProbeKind.AZURE: CheckpointSource.AZURE,
}


def probe(
    kind: ProbeKind, target: str, *, secret_name: str, value: str, options: SourceOptions
) -> ProbeAnswer:
    try:
        return _PROBES[kind](kind, target, secret_name, value, options)
    except SourceFailure as error:
        failure = error.failure
        return ProbeAnswer(works=False, sentence=failure.sentence, hint=failure.hint or "")


def _hub(
    _kind: ProbeKind, target: str, secret_name: str, value: str, options: SourceOptions
) -> ProbeAnswer:
    repo, _, revision = target.partition("@")
    checkpoint = CheckpointRepository(
        source=CheckpointSource.HF,
        repo=repo,
        revision=revision or None,
        runtime_secret_name=secret_name,
    )
    commit, files = _read_hub(checkpoint, value.strip(), options)
    return ProbeAnswer(
        works=True,
        sentence=f"`{secret_name}` reads `{repo}`: {files:,} files at commit `{commit[:12]}`.",
        hint="The repository is public: it is read without a token too."
        if _is_open(checkpoint, options)
        else "",
    )


def _read_hub(
    checkpoint: CheckpointRepository, token: str | None, options: SourceOptions
) -> tuple[str, int]:
    hub = Hub(checkpoint, token=token, options=options)
    answer = hub.information(checkpoint.revision)
    commit = str(answer.get("sha") or "")
    names = [str(each["rfilename"]) for each in answer.get("siblings") or ()]
    if names:
        # Of a gated repository anybody sees the list; its files are what is kept.
        hub.check_access(commit, _USUAL_FILE if _USUAL_FILE in names else names[0])
    return commit, len(names)


def _is_open(checkpoint: CheckpointRepository, options: SourceOptions) -> bool:
    try:
        _read_hub(checkpoint, None, options)
    except SourceFailure:
        return False
    return True


def _bucket(
    kind: ProbeKind, target: str, secret_name: str, value: str, options: SourceOptions
) -> ProbeAnswer:
    checkpoint = CheckpointRepository(
        source=_BUCKETS[kind], repo=target, runtime_secret_name=secret_name
    )
    bucket = Bucket(checkpoint, secret=value, options=options)
    names = bucket.first_names()
    some = "at least " if len(names) >= LISTED_AT_ONCE else ""
    return ProbeAnswer(
        works=True,
        sentence=f"`{secret_name}` lists `{target}`: {some}{len(names):,} objects, "
        f"the first is `{names[0]}`.",
    )


def _url(
    _kind: ProbeKind, target: str, secret_name: str, value: str, options: SourceOptions
) -> ProbeAnswer:
    token = bearer(value)
    if token is None:
        sentence = f"`{secret_name}` holds no token: {NO_TOKEN}."
        return ProbeAnswer(works=False, sentence=sentence, hint="Store the token itself.")
    headers = {"authorization": token, "range": "bytes=0-0"}
    try:
        with archive_http.answered(target, headers=headers, options=options) as answer:
            status = answer.status_code
            location = answer.headers.get("location", "")
    except HTTP_ERRORS as error:
        raise archive_http.explain(error, target) from None
    return _of_status(status, location, urlsplit(target).hostname or target, secret_name)


def _of_status(status: int, location: str, host: str, secret_name: str) -> ProbeAnswer:
    sentence = f"`{host}` answers HTTP {status} to the token in `{secret_name}`"
    if 200 <= status < 300:
        return ProbeAnswer(works=True, sentence=f"{sentence}: it may fetch this address.")
    if 300 <= status < 400:
        elsewhere = urlsplit(location).hostname or host
        return ProbeAnswer(
            works=True,
            sentence=f"{sentence} and leads on to `{elsewhere}`, where the token was not sent.",
        )
    refused = {
        401: ("it does not know the token.", "Is it whole, and not withdrawn?"),
        403: ("it knows the token and refuses this address.", "Give the token's owner access."),
        404: ("there is nothing, or nothing for this token.", "Compare the address."),
    }
    words, hint = refused.get(status, ("that says nothing of the token.", "Try again later."))
    return ProbeAnswer(works=False, sentence=f"{sentence}: {words}", hint=hint)


_Probe = Callable[[ProbeKind, str, str, str, SourceOptions], ProbeAnswer]
_PROBES: Mapping[ProbeKind, _Probe] = {
    ProbeKind.HUB: _hub,
    ProbeKind.S3: _bucket,
    ProbeKind.GCS: _bucket,
    ProbeKind.AZURE: _bucket,
    ProbeKind.URL: _url,
}
