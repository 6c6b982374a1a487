"""EH7: where adapters come from: their places, their secrets, and one in the place of a model."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.adapters import AdapterFacts
from controlplane.domain.rules.adapters.ranks_and_caches import adapters, example
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.rules.rule import Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME, CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import is_well_formed, meant, shown

_ADAPTERS = "trt_llm.build.lora_adapters"
_REPOSITORY = "trt_llm.build.checkpoint_repository"
_ADAPTER = LLAMA_8B.model_copy(
    update={
        "adapter": AdapterFacts(kind="LORA", rank=16, base_model="owner/base"),
        "has_weights": False,
    }
)


def _unlisted(c: Context) -> list[str]:
    named = {each.runtime_secret_name for each in adapters(c).values()}
    return sorted(named - {DEFAULT_SECRET_NAME} - c.spec.secret_names)


def _list_them(c: Context) -> Patch:
    return {"secrets": {**c.spec.secrets, **dict.fromkeys(_unlisted(c))}}


def _twice(c: Context) -> list[str]:
    seen: dict[tuple[str, str | None], str] = {}
    doubles = []
    for name, each in adapters(c).items():
        place = (each.repo, each.revision)
        if place in seen:
            doubles += [seen[place], name]
        seen.setdefault(place, name)
    return doubles


def _misplaced(c: Context) -> dict[str, CheckpointRepository]:
    return {
        name: each
        for name, each in adapters(c).items()
        if each.source is CheckpointSource.BASETEN_TRAINING
        or not is_well_formed(each.source, each.repo)
    }


def _as_meant(c: Context) -> Patch | None:
    intended = {name: meant(each.source, each.repo) for name, each in _misplaced(c).items()}
    patch: dict[str, object] = {}
    for name, place in intended.items():
        if place is None or "." in name:  # a dot in a name would lead the patch elsewhere
            return None
        patch[f"{_ADAPTERS}.{name}.source"] = place[0].value
        patch[f"{_ADAPTERS}.{name}.repo"] = place[1]
    return patch


def _swap(c: Context) -> Patch | None:
    adapter, here = c.checkpoint.adapter, c.spec.checkpoint
    if adapter is None or here is None or not adapter.base_model:
        return None
    mine = here.model_dump(mode="json", exclude_none=True)
    return {
        f"{_REPOSITORY}.source": CheckpointSource.HF.value,
        f"{_REPOSITORY}.repo": adapter.base_model,
        _ADAPTERS: {"adapter": mine},
    }


UNLISTED_SECRET = Rule(
    code="EH711",
    name="adapter-secret-that-is-not-listed",
    severity=Severity.ERROR,
    fields=at(_ADAPTERS, "secrets"),
    when=lambda c: bool(_unlisted(c)),
    message=lambda c: (
        "Adapters name "
        + ", ".join(f"`{name}`" for name in _unlisted(c))
        + ", and `secrets` does not list it: a build gets only the secrets that its config lists."
    ),
    fix=Fix(label="List the secret", patch=_list_them, safe=True),
    source=sources.storage_guide("secrets"),
    bad=example(
        **{_ADAPTERS: {"a": {"source": "HF", "repo": "a/b", "runtime_secret_name": "team_token"}}}
    ),
    good=example(),
)

TWICE = Rule(
    code="EH712",
    name="one-adapter-under-two-names",
    severity=Severity.HINT,
    fields=at(_ADAPTERS),
    when=lambda c: bool(_twice(c)),
    message=lambda c: (
        "The same adapter under several names takes memory for each: "
        + ", ".join(f"`{name}`" for name in _twice(c))
        + "."
    ),
    source=sources.lora_guide("selecting an adapter"),
    bad=example(
        **{_ADAPTERS: {"a": {"source": "HF", "repo": "a/b"}, "c": {"source": "HF", "repo": "a/b"}}}
    ),
    good=example(),
)

ADAPTER_AS_BASE = Rule(
    code="EH714",
    name="adapter-as-the-model",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(f"{_REPOSITORY}.repo", _ADAPTERS),
    when=lambda c: (
        c.checkpoint.adapter is not None
        and not c.checkpoint.has_weights
        and (c.spec.checkpoint is None or c.spec.checkpoint.repo != c.checkpoint.adapter.base_model)
    ),
    message=lambda c: (
        f"`{c.spec.checkpoint.repo if c.spec.checkpoint else ''}` holds an adapter and no model"
        + (
            f"; it was trained on `{c.checkpoint.adapter.base_model}`"
            if c.checkpoint.adapter and c.checkpoint.adapter.base_model
            else ""
        )
        + ". Name the base model under `checkpoint_repository` and this one under `lora_adapters`."
    ),
    fix=Fix(label="Put each in its place", patch=_swap, safe=True),
    source=sources.lora_guide("adapter repositories"),
    bad=Example(config={"resources.accelerator": "H100"}, checkpoint=_ADAPTER),
    good=example(),
)

UNREADABLE_PLACE = Rule(
    code="EH716",
    name="adapter-place-in-another-form",
    severity=Severity.ERROR,
    fields=lambda c: tuple(f"{_ADAPTERS}.{name}" for name in _misplaced(c)) or (_ADAPTERS,),
    concerns=lambda c: bool(adapters(c)),
    when=lambda c: bool(_misplaced(c)),
    message=lambda c: (
        "No build can read the place of "
        + ", ".join(f"`{name}` (`{shown(place.repo)}`, source `{place.source}`)"
                    for name, place in _misplaced(c).items())
        + ". Write `s3://bucket/path`, `gs://bucket/path` or `az://container/path` for a bucket, "
        "the `https://` address of a tar or tar.gz for `REMOTE_URL`; projects of the hosted "
        "product (`BASETEN_TRAINING`) have to be exported first."
    ),
    fix=Fix(label="Write it as meant", patch=_as_meant, safe=True),
    source=sources.storage_guide("checkpoint sources"),
    bad=example(**{_ADAPTERS: {"a": {"source": "S3", "repo": "gs://weights/legal"}}}),
    good=example(**{_ADAPTERS: {"a": {"source": "GCS", "repo": "gs://weights/legal"}}}),
)  # fmt: skip
