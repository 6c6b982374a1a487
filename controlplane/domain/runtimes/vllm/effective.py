from collections.abc import Iterator

from controlplane.domain.commands.lookahead import SPECULATOR, drafted_by
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.vllm.adapters import RANK, rank_for
from controlplane.domain.runtimes.vllm.arguments import sequence_tokens, step_tokens
from controlplane.domain.runtimes.vllm.chat_parsers import FLAGS, chosen_parsers
from controlplane.domain.runtimes.vllm.drafter import reason
from controlplane.domain.runtimes.vllm.reasons import REASONS, SEQUENCE_REASON
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import BatchSchedulerPolicy
from controlplane.domain.spec.trt_llm import TrtLlmV1

_POLICY = "trt_llm.runtime.batch_scheduler_policy"


def vllm_values(spec: Spec, checkpoint: CheckpointFacts | None) -> Iterator[EffectiveValue]:
    if checkpoint is not None:
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_num_tokens",
            asked=spec.max_num_tokens,
            effective=step_tokens(spec, checkpoint),
            reason="vLLM wants a step to hold a token of every request (with adapters, all its "
            "drafts too), a whole prompt where prompts do not enter in pieces, and a whole film of "
            "Gemma 4.",
        )
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_seq_len",
            asked=spec.max_seq_len,
            effective=sequence_tokens(spec, checkpoint),
            reason=SEQUENCE_REASON,
        )
        yield from _parsers(spec, checkpoint)
    yield from _drafts(spec)
    yield from _scheduling(spec)
    shape = spec.engine_build.lora_configuration
    if spec.engine_build.lora_adapters and shape is not None:
        yield EffectiveValue(
            field=RANK,
            asked=shape.max_lora_rank,
            effective=rank_for(shape.max_lora_rank),
            reason="vLLM takes certain ranks only.",
        )


def _parsers(spec: Spec, checkpoint: CheckpointFacts) -> Iterator[EffectiveValue]:
    for parser in chosen_parsers(spec, checkpoint):
        flag = FLAGS[parser.kind][-1].removeprefix("--")
        yield EffectiveValue(
            field=f"{spec.settings_path}.vllm_args.{flag}",
            asked=None,
            effective=parser.name,
            reason=parser.reason,
        )


def _drafts(spec: Spec) -> Iterator[EffectiveValue]:
    speculator = spec.speculator
    drafted = drafted_by(speculator) if speculator else None
    if speculator is None or drafted is None:
        return
    yield EffectiveValue(
        field=f"{SPECULATOR}.speculative_decoding_mode",
        asked=speculator.speculative_decoding_mode.value,
        effective="custom_class",
        reason=reason(drafted),
    )
    for name in ("lookahead_windows_size", "lookahead_verification_set_size"):
        yield EffectiveValue(
            field=f"{SPECULATOR}.{name}",
            asked=getattr(speculator, name),
            effective=1,
            reason="vLLM verifies one draft a step; this size counts for its length alone.",
        )


def _scheduling(spec: Spec) -> Iterator[EffectiveValue]:
    runtime = spec.trt_llm.runtime
    if isinstance(spec.trt_llm, TrtLlmV1) and runtime.gives("batch_scheduler_policy"):
        yield EffectiveValue(
            field=_POLICY,
            asked=spec.trt_llm.runtime.batch_scheduler_policy.value,
            effective=BatchSchedulerPolicy.MAX_UTILIZATION.value,
            reason=REASONS[_POLICY],
        )
