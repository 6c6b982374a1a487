"""What stands around a server's arguments -> notes, secrets, and the question of the GPU."""

from collections.abc import Mapping, Sequence

from controlplane.domain.commands.draft import ADAPTERS, REPOSITORY, Draft
from controlplane.domain.commands.invocation import CommandContext
from controlplane.domain.commands.report import Choice
from controlplane.domain.commands.secrets import CommandSecrets
from controlplane.domain.commands.words import Word
from controlplane.domain.facts.gpus import ACCELERATOR_KINDS, CPU
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.domain.spec.choices import CheckpointSource

ACCELERATOR = "resources.accelerator"
TENSOR_PARALLEL = "trt_llm.build.tensor_parallel_count"
PIPELINE_PARALLEL = "trt_llm.build.pipeline_parallel_count"
_VISIBLE = frozenset(
    {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
     "ROCR_VISIBLE_DEVICES"}
)  # fmt: skip
_DEVICES = "The agent picks free GPUs and hides the others."
_VARIABLE = "Engines get their environment from their runtime's driver, not from the config."
_HIDDEN_KINDS = frozenset({"B10", CPU})
_USUAL = "H100"


def take_context(
    draft: Draft, context: CommandContext, plain: Sequence[str], secrets: CommandSecrets
) -> None:
    """Note the plain variables and everything else around the arguments; list the hub's secret."""
    for name in plain:
        text = f"{name}={context.environment[name].text}"
        draft.leave(text, _DEVICES if name in _VISIBLE else _VARIABLE)
    if DEFAULT_SECRET_NAME in secrets.offered and _loads_from_hub(draft):
        draft.fields[f"secrets.{DEFAULT_SECRET_NAME}"] = None
    for flag, reason in context.dropped:
        draft.leave(flag, reason)


def _loads_from_hub(draft: Draft) -> bool:
    """Return whether the checkpoint or an adapter is on the hub, or still unknown."""
    places = [draft.fields.get(REPOSITORY) or {"source": CheckpointSource.HF}]
    places += (draft.fields.get(ADAPTERS) or {}).values()
    return any(place["source"] == CheckpointSource.HF for place in places)


def ask_accelerator(draft: Draft, context: CommandContext) -> None:
    """Ask which GPU, and say how many the parallel sizes need."""
    count = _world_size(draft)
    seen = context.gpus or _visible(context.environment)
    more = f" The command sees {seen}." if seen and seen != count else ""
    proposed, why = _proposed(draft.owned, count)
    draft.fields[ACCELERATOR] = _written(proposed, count)
    kinds = [kind for kind in ACCELERATOR_KINDS if kind not in {*_HIDDEN_KINDS, proposed}]
    texts = [_written(kind, count) for kind in (proposed, *kinds)]
    draft.ask(
        None,
        ACCELERATOR,
        f"Which GPU? A command line does not name it, and this one needs {count} of one kind "
        f"(tensor × pipeline parallel).{more} {why}",
        [Choice(label=text, patch={ACCELERATOR: text}) for text in texts],
        first=True,
    )


def _proposed(owned: Sequence[tuple[str, int, int]], count: int) -> tuple[str, str]:
    enough = [(size, kind) for kind, number, size in owned if number >= count and kind != CPU]
    if enough:
        kind = max(enough)[1]
        return kind, f"`{kind}` is what a host here has enough of."
    return _USUAL, f"No host here has {count} of one kind; `{_USUAL}` is a proposal."


def _written(kind: str, count: int) -> str:
    return kind if count == 1 else f"{kind}:{count}"


def _world_size(draft: Draft) -> int:
    size = 1
    for field in (TENSOR_PARALLEL, "trt_llm.runtime.tensor_parallel_size", PIPELINE_PARALLEL):
        value = draft.fields.get(field, 1)
        size *= value if isinstance(value, int) and value > 0 else 1
    return size


def _visible(environment: Mapping[str, Word]) -> int | None:
    for name in _VISIBLE:
        word = environment.get(name)
        if word and not word.unknown:
            return len([one for one in word.text.split(",") if one.strip().isdigit()]) or None
    return None
