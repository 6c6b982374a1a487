"""EH8: what the files of a checkpoint hold, and secrets that stand in the config."""

import re

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.choices import CheckpointSource

_REPOSITORY = "trt_llm.build.checkpoint_repository"
_REPO = f"{_REPOSITORY}.repo"
_TOKEN = re.compile(
    r"hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{12,}|ghp_[A-Za-z0-9]{16,}"
)
_SECRET_WORDS = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY)(_|$)", re.I)
_LAYOUT = sources.truss("checkpoint layout")
_L4: Config = {"resources.accelerator": "L4"}
_COMPLETE = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def _with_files(*names: str) -> Example:
    checkpoint = facts().model_copy(update={"files": names, "has_weights": True})
    return Example(config=_L4, checkpoint=checkpoint)


def _has(c: Context, *endings: str) -> bool:
    return any(name.endswith(endings) for name in c.checkpoint.files)


def _variables_with_secrets(c: Context) -> list[str]:
    return [
        name
        for name, value in c.spec.environment_variables.items()
        if value and (_TOKEN.search(value) or _SECRET_WORDS.search(name))
    ]


def _written_secrets(c: Context) -> list[str]:
    return [name for name, value in c.spec.secrets.items() if value]


def _move_to_secrets(c: Context) -> Patch:
    names = _variables_with_secrets(c)
    return {
        **{f"environment_variables.{name}": None for name in names},
        "secrets": {
            **dict.fromkeys(c.spec.secrets),
            **dict.fromkeys(name.lower() for name in names),
        },
    }


GGUF_ONLY = Rule(
    code="EH820",
    name="gguf-files-only",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: _has(c, ".gguf") and not _has(c, ".safetensors", ".bin"),
    message=lambda c: (
        f"`{c.spec.checkpoint.repo if c.spec.checkpoint else ''}` holds GGUF files only, which no "
        "runtime here reads. Name the repository that they were made from."
    ),
    source=_LAYOUT,
    bad=_with_files("config.json", "model-q4_k_m.gguf"),
    good=_with_files(*_COMPLETE),
)

PICKLED = Rule(
    code="EH821",
    name="weights-without-safetensors",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: _has(c, ".bin", ".pt", ".pth") and not _has(c, ".safetensors"),
    message=lambda _: (
        "The weights are pickled (`*.bin`), and the hosted product asks for safetensors. Pickles "
        "can run code when they are read; convert the checkpoint, or name a revision that is."
    ),
    source=_LAYOUT,
    bad=_with_files("config.json", "pytorch_model.bin", "tokenizer.json"),
    good=_with_files(*_COMPLETE),
)

NO_TOKENIZER = Rule(
    code="EH822",
    name="checkpoint-without-a-fast-tokenizer",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: (
        bool(c.checkpoint.files)
        and _has(c, ".safetensors", ".bin")
        and not _has(c, "tokenizer.json", "tekken.json")
    ),
    message=lambda c: (
        "There is no `tokenizer.json`"
        + (
            "; `tokenizer.model` has to be converted at each start"
            if _has(c, "tokenizer.model")
            else ": requests cannot be turned into tokens"
        )
        + ". Save the fast tokenizer beside the weights."
    ),
    source=_LAYOUT,
    bad=_with_files("config.json", "model.safetensors"),
    good=_with_files(*_COMPLETE),
)

DISAGREE = Rule(
    code="EH823",
    name="weights-unlike-the-shape",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.weights_disagree,
    message=lambda c: (
        f"The weight files hold {(c.checkpoint.weight_bytes or 0) / 1e9:.2f} GB, and `config.json` "
        f"describes {(c.checkpoint.counted_weight_bytes or 0) / 1e9:.2f} GB; the plan goes by the "
        "files. Parts that are not loaded, or a wrong `config.json`, look like this."
    ),
    source=sources.enginehouse("counted and read sizes"),
    bad=Example(config=_L4, checkpoint=LLAMA_8B.model_copy(update={"weight_bytes": 20 * 10**9})),
    good=Example(config=_L4, checkpoint=LLAMA_8B),
)

ASSUMED = Rule(
    code="EH824",
    name="sizes-that-the-file-leaves-out",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: bool(c.checkpoint.assumed),
    message=lambda c: (
        "`config.json` leaves out "
        + ", ".join(f"`{name}`" for name in c.checkpoint.assumed)
        + f"; the defaults of `{c.checkpoint.model_type}` are taken, and the plan is an estimate."
    ),
    source=sources.enginehouse("counted and read sizes"),
    bad=Example(
        config=_L4, checkpoint=LLAMA_8B.model_copy(update={"assumed": ("num_attention_heads",)})
    ),
    good=Example(config=_L4, checkpoint=LLAMA_8B),
)

TOKEN_IN_VARIABLE = Rule(
    code="EH825",
    name="secret-in-an-environment-variable",
    severity=Severity.WARNING,
    fields=lambda c: (
        tuple(f"environment_variables.{name}" for name in _variables_with_secrets(c))
        or ("environment_variables",)
    ),
    when=lambda c: bool(_variables_with_secrets(c)),
    message=lambda c: (
        "Looks like a secret in the file, where everyone who may read the config reads it: "
        + ", ".join(f"`{name}`" for name in _variables_with_secrets(c))
        + ". Store it under Secrets, list its name, and revoke the one that was written here."
    ),
    fix=Fix(label="List it as a secret", patch=_move_to_secrets, safe=False),
    source=sources.storage_guide("secrets"),
    bad=Example(config={"environment_variables": {"HF_TOKEN": "to-be-replaced"}}),
    good=Example(config={"environment_variables": {"OMP_NUM_THREADS": "2"}}),
)

WRITTEN_SECRET = Rule(
    code="EH826",
    name="secret-value-in-the-file",
    severity=Severity.WARNING,
    fields=lambda c: tuple(f"secrets.{name}" for name in _written_secrets(c)) or ("secrets",),
    when=lambda c: bool(_written_secrets(c)),
    message=lambda c: (
        "`secrets` lists names; a value stands beside "
        + ", ".join(f"`{name}`" for name in _written_secrets(c))
        + ". Values live in the secret store only, and this one is never used."
    ),
    fix=Fix(
        label="Remove the values",
        patch=lambda c: {"secrets": dict.fromkeys(c.spec.secrets)},
        safe=True,
    ),
    source=sources.truss("truss_config.py, secrets"),
    bad=Example(
        config={"secrets": {"team_token": "written-here"}}, secret_names=frozenset({"team_token"})
    ),
    good=Example(config={"secrets": {"team_token": None}}, secret_names=frozenset({"team_token"})),
)

HUB_ID_AS_FOLDER = Rule(
    code="EH827",
    name="hub-address-as-repository",
    severity=Severity.WARNING,
    fields=at(_REPO, f"{_REPOSITORY}.source"),
    concerns=lambda c: (
        c.spec.checkpoint is not None and c.spec.checkpoint.source is CheckpointSource.LOCAL
    ),
    when=lambda c: (
        c.spec.checkpoint is not None
        and c.spec.checkpoint.repo.startswith(("hf://", "https://huggingface.co/"))
    ),
    message=lambda c: (
        f"`{c.spec.checkpoint.repo if c.spec.checkpoint else ''}` is an address of the hub, and "
        "`source` is `LOCAL`, a folder on this host."
    ),
    fix=Fix(
        label="Read it from the hub",
        patch=lambda c: {
            f"{_REPOSITORY}.source": "HF",
            _REPO: (c.spec.checkpoint.repo if c.spec.checkpoint else "")
            .removeprefix("hf://")
            .removeprefix("https://huggingface.co/")
            .strip("/"),
        },
        safe=True,
    ),
    source=sources.storage_guide("checkpoint sources"),
    bad=Example(config={_REPO: "hf://owner/model"}),
    good=Example(),
)
