"""EH8: the checkpoint and the secrets that open it."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.trtllm_formats import unread_format
from controlplane.domain.failures.registry import hub, local_folders
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example, facts, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import argument
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import shown

_REPOSITORY = "trt_llm.build.checkpoint_repository"
_REPO = f"{_REPOSITORY}.repo"
_SOURCE = f"{_REPOSITORY}.source"
_SECRET = f"{_REPOSITORY}.runtime_secret_name"
_GATED_EXAMPLE = {_SOURCE: "HF", _REPO: "owner/gated"}
_GATED_FAILURE = hub.GATED_WITHOUT_TOKEN.failure(
    repo="owner/gated", secret=DEFAULT_SECRET_NAME, endpoint="https://huggingface.co"
)


def _secret_name(c: Context) -> str:
    return c.spec.checkpoint.runtime_secret_name if c.spec.checkpoint else DEFAULT_SECRET_NAME


def _repo(c: Context) -> str:
    return shown(c.spec.checkpoint.repo) if c.spec.checkpoint else ""


def _source(c: Context) -> CheckpointSource | None:
    return c.spec.checkpoint.source if c.spec.checkpoint else None


def _is_gated(c: Context) -> bool:
    """Return whether the hub answered so: nothing in a repository's name tells it."""
    failure = c.known.checkpoint_failure
    return failure is not None and failure.code == _GATED_FAILURE.code


def _lacks_secret(c: Context) -> bool:
    return _is_gated(c) and _secret_name(c) not in c.spec.secret_names


def _fix_of_failure(c: Context) -> Patch | None:
    return c.known.checkpoint_failure.fix if c.known.checkpoint_failure else None


def _list_secret(c: Context) -> Patch:
    return {"secrets": {**c.spec.secrets, _secret_name(c): None}}


def _unread(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    return (unread_format(existing) or "") if existing else ""


def _not_stored(c: Context) -> list[str]:
    return sorted(c.spec.secret_names - c.secret_names)


UNREADABLE = Rule(
    code="EH801",
    name="unreadable-checkpoint",
    severity=Severity.ERROR,
    fields=lambda c: (
        (c.known.checkpoint_failure.field if c.known.checkpoint_failure else None) or _REPO,
    ),
    when=lambda c: c.known.checkpoint_failure is not None and not _lacks_secret(c),
    message=lambda c: (
        f"{c.known.checkpoint_failure.sentence} {c.known.checkpoint_failure.hint or ''}".strip()
        if c.known.checkpoint_failure
        else ""
    ),
    fix=Fix(
        label="Apply",
        patch=_fix_of_failure,
        safe=False,
    ),
    source=sources.enginehouse("checkpoint sources"),
    bad=Example(
        checkpoint=None,
        checkpoint_failure=local_folders.MISSING.failure(
            path="/checkpoints/example", where="on this machine"
        ),
    ),
    good=Example(),
)

GATED_WITHOUT_SECRET = Rule(
    code="EH802",
    name="gated-repository-without-secret",
    severity=Severity.ERROR,
    fields=at(_SECRET, "secrets"),
    when=lambda c: _lacks_secret(c) and _secret_name(c) == DEFAULT_SECRET_NAME,
    message=lambda c: (
        f"The hub says that `{_repo(c)}` is gated, and `secrets` does not list "
        f"`{_secret_name(c)}`: a check and a build send the token of a secret only where the "
        "config lists it. "
        + (
            "It is stored: list it."
            if _secret_name(c) in (c.known.secret_names or ())
            else "Ask for access on its page, store the token of that account under Secrets, and "
            "list it."
        )
    ),
    fix=Fix(label="List the secret", patch=_list_secret, safe=True),
    source=sources.storage_guide("Hugging Face tokens"),
    bad=Example(
        config=_GATED_EXAMPLE, checkpoint=None, checkpoint_failure=_GATED_FAILURE,
        secret_names=frozenset({DEFAULT_SECRET_NAME}),
    ),
    good=Example(
        config={**_GATED_EXAMPLE, "secrets": {DEFAULT_SECRET_NAME: None}},
        secret_names=frozenset({DEFAULT_SECRET_NAME}),
    ),
)  # fmt: skip

UNLISTED_SECRET = Rule(
    code="EH803",
    name="named-secret-that-is-not-listed",
    severity=Severity.ERROR,
    fields=at(_SECRET, "secrets"),
    concerns=lambda c: _source(c) is not CheckpointSource.LOCAL,
    when=lambda c: (
        _secret_name(c) != DEFAULT_SECRET_NAME and _secret_name(c) not in c.spec.secret_names
    ),
    message=lambda c: (
        f"`runtime_secret_name` is `{_secret_name(c)}`, and `secrets` does not list it: a build "
        "gets only the secrets that its config lists."
    ),
    fix=Fix(label="List the secret", patch=_list_secret, safe=True),
    source=sources.storage_guide("secrets"),
    bad=Example(config={_SOURCE: "HF", _REPO: "owner/model", _SECRET: "team_token"}),
    good=Example(
        config={
            _SOURCE: "HF",
            _REPO: "owner/model",
            _SECRET: "team_token",
            "secrets": {"team_token": None},
        },
        secret_names=frozenset({"team_token"}),
    ),
)

SECRET_NOT_STORED = Rule(
    code="EH804",
    name="secret-that-is-not-stored",
    severity=Severity.ERROR,
    needs=("secret_names",),
    fields=lambda c: tuple(f"secrets.{name}" for name in _not_stored(c)) or ("secrets",),
    concerns=lambda c: bool(c.spec.secret_names),
    when=lambda c: bool(_not_stored(c)),
    message=lambda c: (
        "Listed under `secrets`, and not stored: "
        + ", ".join(f"`{name}`" for name in _not_stored(c))
        + ". Store a value under Secrets first."
    ),
    source=sources.enginehouse("secrets"),
    bad=Example(config={"secrets": {"team_token": None}}),
    good=Example(config={"secrets": {"team_token": None}}, secret_names=frozenset({"team_token"})),
)

TRAINING_SOURCE = Rule(
    code="EH805",
    name="hosted-training-checkpoint",
    severity=Severity.ERROR,
    fields=at(_SOURCE),
    when=lambda c: _source(c) is CheckpointSource.BASETEN_TRAINING,
    message=lambda c: (
        f"`BASETEN_TRAINING` names a project of the hosted product (`{_repo(c)}`), which no other "
        "host can read. Export the checkpoint to a folder (`LOCAL`) or a bucket (`S3`)."
    ),
    fix=Fix(
        label="Read it from a local folder",
        patch=lambda c: {_SOURCE: "LOCAL", f"{_REPOSITORY}.revision": None},
        safe=False,
    ),
    source=sources.storage_guide("training checkpoints"),
    bad=Example(config={_SOURCE: "BASETEN_TRAINING", _REPO: "my-project"}),
    good=Example(),
)

UNSERVABLE_QUANTIZATION = Rule(
    code="EH806",
    name="checkpoint-in-a-format-that-is-not-read",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: bool(_unread(c)),
    message=lambda c: (
        f"The checkpoint is quantized with {_unread(c)}, which this engine does not "
        "build from. Use the original weights, or a ModelOpt export."
    ),
    source=sources.quantization_guide("Pre-quantized checkpoints"),
    bad=on_trtllm(
        Example(
            config={"resources.accelerator": "L4"},
            checkpoint=facts(quantization_config={"quant_method": "gptq"}),
        )
    ),
    good=on_trtllm(
        Example(
            config={"resources.accelerator": "L4"},
            checkpoint=facts(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"}),
        )
    ),
)

NO_WEIGHTS = Rule(
    code="EH807",
    name="checkpoint-without-weights",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=lambda c: argument(c, "model_path") is None,
    when=lambda c: c.checkpoint.has_weights is False and c.checkpoint.adapter is None,
    message=lambda c: (
        f"`{_repo(c)}` holds no weight files (`*.safetensors`): there is nothing to serve."
    ),
    source=sources.truss("checkpoint layout"),
    bad=Example(
        checkpoint=facts().model_copy(update={"files": ("config.json",), "has_weights": False})
    ),
    good=Example(
        checkpoint=facts().model_copy(
            update={"files": ("config.json", "model.safetensors"), "has_weights": True}
        )
    ),
)

NO_ARCHITECTURE = Rule(
    code="EH809",
    name="checkpoint-without-architecture",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=lambda c: argument(c, "model_path") is None,
    when=lambda c: (
        c.checkpoint.architecture is None
        and c.checkpoint.model_type is None
        and c.checkpoint.adapter is None
    ),
    message=lambda c: (
        f"The `config.json` of `{_repo(c)}` names neither `architectures` nor `model_type`, so no "
        "runtime knows what it is."
    ),
    source=sources.truss("checkpoint layout, architectures"),
    bad=Example(checkpoint=facts(architectures=None, model_type=None)),
    good=Example(),
)
