"""EH689: encoders that vLLM has no class of."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_encoder_classes import lacks_encoder_class
from controlplane.domain.rules.checkpoint.remote_code import grant_of
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, Config, Example, facts, on_vllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at

_L4: Config = {"resources.accelerator": "L4", "trt_llm.build.base_model": "encoder_bert"}
_DEBERTA = facts(
    architectures=["DebertaV2ForSequenceClassification"], model_type="deberta-v2",
    hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
    vocab_size=251_000, max_position_embeddings=512, id2label={"0": "benign", "1": "jailbreak"},
)  # fmt: skip


def _has_none(c: Context) -> bool:
    if "architectures" in c.spec.settings.hf_overrides:
        return False
    has_granted_code = c.checkpoint.remote_code and grant_of(c) is not None
    return not has_granted_code and lacks_encoder_class(c.checkpoint.architecture)


NO_ENCODER_CLASS = Rule(
    code="EH689",
    name="encoder-that-vllm-has-not",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at("trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.spec.base_model.is_encoder,
    when=_has_none,
    message=lambda c: (
        f"vLLM has no class for `{c.checkpoint.architecture}`, and the transformers library "
        "has none that it can take in its place: vLLM fails to start."
    ),
    otherwise=other_engines,
    source=sources.vllm("model_executor/models/registry.py", checked="2026-11-30"),
    bad=on_vllm(Example(config=_L4, checkpoint=_DEBERTA)),
    good=on_vllm(Example(config=_L4, checkpoint=BERT)),
)
