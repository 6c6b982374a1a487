"""EH8: how a checkpoint outside the hub is named, and what opens it."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example
from controlplane.domain.rules.rule import Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import (
    SCHEMES,
    archive_url,
    is_signed,
    is_well_formed,
    meant,
    shown,
)

_REPOSITORY = "trt_llm.build.checkpoint_repository"
_SOURCE, _REPO = f"{_REPOSITORY}.source", f"{_REPOSITORY}.repo"
_SECRET, _REVISION = f"{_REPOSITORY}.runtime_secret_name", f"{_REPOSITORY}.revision"
_WITH_REVISIONS = (CheckpointSource.HF, CheckpointSource.BASETEN_TRAINING)
_FORMS = {
    CheckpointSource.S3: "`s3://bucket/path`",
    CheckpointSource.GCS: "`gs://bucket/path`",
    CheckpointSource.AZURE: "`az://container/path`",
    CheckpointSource.REMOTE_URL: "the `https://` address of a tar or tar.gz, without a login in it",
}
_CONTENTS = {
    CheckpointSource.S3: "a JSON object with `aws_access_key_id` and `aws_secret_access_key`",
    CheckpointSource.GCS: "the JSON key of a service account",
    CheckpointSource.AZURE: "a JSON object with `account_key`",
}
_BUCKET = {_SOURCE: "S3", _REPO: "s3://weights/llama"}
_ARCHIVE = {_SOURCE: "REMOTE_URL", _REPO: "https://example.com/llama.tar.gz"}


def _source(c: Context) -> CheckpointSource:
    return c.spec.checkpoint.source if c.spec.checkpoint else CheckpointSource.HF


def _repo(c: Context) -> str:
    return c.spec.checkpoint.repo if c.spec.checkpoint else ""


def _shown_repo(c: Context) -> str:
    return shown(_repo(c))


def _revision(c: Context) -> str | None:
    return c.spec.checkpoint.revision if c.spec.checkpoint else None


def _uses_hub_secret(c: Context) -> bool:
    return c.spec.checkpoint is not None and (
        c.spec.checkpoint.runtime_secret_name == DEFAULT_SECRET_NAME
    )


def _as_meant(c: Context) -> Patch | None:
    intended = meant(_source(c), _repo(c))
    return {_SOURCE: intended[0].value, _REPO: intended[1]} if intended else None


REPOSITORY_FORM = Rule(
    code="EH810",
    name="repository-in-another-form",
    severity=Severity.ERROR,
    fields=at(_REPO, _SOURCE),
    concerns=lambda c: _source(c) in _FORMS,
    when=lambda c: not is_well_formed(_source(c), _repo(c)),
    message=lambda c: (
        f"`{_shown_repo(c)}` does not name a checkpoint of source `{_source(c)}`, which is written "
        f"as {_FORMS[_source(c)]}."
    ),
    fix=Fix(label="Write it as meant", patch=_as_meant, safe=True),
    source=sources.storage_guide("checkpoint sources"),
    bad=Example(config={_SOURCE: "S3", _REPO: "gs://weights/llama", _SECRET: "key"}),
    good=Example(config=_BUCKET),
)

BUCKET_WITHOUT_SECRET = Rule(
    code="EH811",
    name="bucket-without-its-own-secret",
    severity=Severity.WARNING,
    fields=at(_SECRET),
    concerns=lambda c: _source(c) in SCHEMES,
    when=_uses_hub_secret,
    message=lambda c: (
        f"`runtime_secret_name` is `{DEFAULT_SECRET_NAME}`, which is sent to the hub only: "
        f"`{_repo(c)}` is asked for without a login and must be public. For a private one, name a "
        f"secret that holds {_CONTENTS[_source(c)]}, and list it under `secrets`."
    ),
    source=sources.storage_guide("secret contents"),
    bad=Example(config=_BUCKET),
    good=Example(
        config={**_BUCKET, _SECRET: "aws_key", "secrets": {"aws_key": None}},
        secret_names=frozenset({"aws_key"}),
    ),
)

REVISION_WITHOUT_EFFECT = Rule(
    code="EH812",
    name="revision-without-effect",
    severity=Severity.HINT,
    fields=at(_REVISION),
    concerns=lambda c: _revision(c) is not None,
    when=lambda c: _source(c) not in _WITH_REVISIONS,
    message=lambda c: (
        f"`revision` (`{_revision(c)}`) has no effect with source `{_source(c)}`, which keeps no "
        "branches; the build pins the files as it finds them."
    ),
    fix=Fix(label="Remove the revision", patch=lambda _: {_REVISION: None}, safe=True),
    source=sources.storage_guide("revisions"),
    bad=Example(config={**_BUCKET, _REVISION: "main"}),
    good=Example(config={_SOURCE: "HF", _REPO: "owner/model", _REVISION: "main"}),
)

SIGNED_ADDRESS = Rule(
    code="EH813",
    name="signed-address",
    severity=Severity.HINT,
    fields=at(_REPO),
    concerns=lambda c: _source(c) is CheckpointSource.REMOTE_URL,
    when=lambda c: archive_url(_repo(c)) is not None and is_signed(_repo(c)),
    message=lambda c: (
        f"The address `{_shown_repo(c)}` carries a signature: whoever may read this config can use "
        "it, and builds fail once it has expired. A bucket source with a secret does not expire."
    ),
    source=sources.storage_guide("checkpoint sources"),
    bad=Example(
        config={**_ARCHIVE, _REPO: "https://example.com/llama.tar.gz?X-Amz-Signature=0a1b"}
    ),
    good=Example(config=_ARCHIVE),
)
