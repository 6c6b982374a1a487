"""EH61: models that another engine serves, or none: recognised by class, or by their name."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.architectures import ENGINE_BUILDER, Role
from controlplane.domain.facts.encoder_routes import RERANK_ROUTE, ranks_by_token
from controlplane.domain.facts.engines import TEXT_OF_WRAPPER, Engine
from controlplane.domain.facts.known_architectures import KNOWN_SOURCE, is_known_generator
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Rule, Severity, at, generates, on_gpu
from controlplane.domain.rules.serving.encoders import route
from controlplane.domain.rules.serving.trtllm_classes import has_no_class

_REPO = "trt_llm.build.checkpoint_repository.repo"
_STACK = "trt_llm.inference_stack"
_ACCELERATOR = "resources.accelerator"
_SPECIAL = sources.engines_overview("Specialized deployments")
_MULTIMODAL = sources.engines_overview("Feature availability, multimodal inputs")
_H100 = {_ACCELERATOR: "H100"}
_LLAVA = facts(architectures=["LlavaForConditionalGeneration"], vision_config={"hidden_size": 1024})
GEMMA_3 = facts(
    architectures=["Gemma3ForConditionalGeneration"], model_type="gemma3",
    vision_config={"hidden_size": 1152},
)  # fmt: skip
WHISPER = facts(architectures=["WhisperForConditionalGeneration"], model_type="whisper")
FLUX = facts({"_class_name": "FluxTransformer2DModel"}, chat_template=None)


_ROUTE = "trt_llm.runtime.webserver_default_route"
_FEWEST_SOUNDS = 1024
"""Text models have at most some hundred numbered tokens of their own."""
_ORPHEUS_SHAPE = ("llama", 156_940)
"""Llama 3's vocabulary with seven books of 4,096 sounds; the tokenizer says so too, if it is read.
Source: the config of canopylabs/orpheus-3b-0.1-ft, as public programs repeat it, 2026-11-30."""


def _repo(c: Context) -> str:
    return c.spec.checkpoint.repo if c.spec.checkpoint else ""


def _architecture(c: Context) -> str:
    return c.checkpoint.architecture or "This checkpoint"


def _is_v1_decoder(c: Context) -> bool:
    return generates(c) and not c.spec.is_v2


def _is_text_wrapper(c: Context) -> bool:
    return c.checkpoint.role is Role.MULTIMODAL and c.checkpoint.architecture in TEXT_OF_WRAPPER


def _ranks_by_next_token(c: Context) -> bool:
    """Return whether it is asked to rank, or says by its files that it does, by a language head."""
    if not (c.checkpoint.architecture or "").endswith("ForCausalLM"):
        return False
    return route(c) == RERANK_ROUTE or ranks_by_token(c.checkpoint)


def _speaks(c: Context) -> bool:
    facts_known = c.checkpoint
    shape = (facts_known.model_type, facts_known.vocabulary_size)
    return (facts_known.sound_tokens or 0) >= _FEWEST_SOUNDS or shape == _ORPHEUS_SHAPE


SPEECH = Rule(
    code="EH611",
    name="speech-models",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.role is Role.SPEECH,
    message=lambda c: (
        f"`{_architecture(c)}` is a speech model, and every runtime here reads and writes text. "
        "The hosted product deploys Whisper and its kind as specialized engines; a vLLM server of "
        "its own serves Whisper at `/v1/audio/transcriptions`."
    ),
    source=_SPECIAL,
    bad=Example(config=_H100, checkpoint=WHISPER),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)

IMAGES = Rule(
    code="EH612",
    name="image-generators",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.role is Role.IMAGE_GENERATION,
    message=lambda c: (
        f"`{_architecture(c)}` makes images, and every runtime here makes text. The hosted "
        "product deploys Flux and its kind as specialized engines; the diffusers library serves "
        "them elsewhere."
    ),
    source=_SPECIAL,
    bad=Example(config=_H100, checkpoint=FLUX),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)

ORPHEUS = Rule(
    code="EH613",
    name="speech-tokens",
    severity=Severity.WARNING,
    fields=at(_REPO),
    needs=("checkpoint",),
    concerns=generates,
    when=_speaks,
    message=lambda c: (
        f"`{_repo(c)}` answers in tokens that stand for sound. It is served as the language model "
        "that it is; turning its tokens into audio needs the SNAC decoder, which the hosted "
        "product's Orpheus example brings and no runtime here has."
    ),
    source=_SPECIAL,
    bad=Example(config=_H100, checkpoint=LLAMA_8B.model_copy(update={"sound_tokens": 28_682})),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)

TEXT_ONLY = Rule(
    code="EH614",
    name="wrapper-served-as-text",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=_is_text_wrapper,
    message=lambda c: (
        f"`{_architecture(c)}` also takes images; `{c.runtime}` serves its text part only and "
        "requests with an image are refused. The engine's page names Gemma 3 12B and 27B, and the "
        "feature table gives this engine no multimodal inputs."
    ),
    source=_MULTIMODAL,
    bad=Example(config=_H100, checkpoint=GEMMA_3),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)

MULTIMODAL_V1 = Rule(
    code="EH615",
    name="image-model-on-v1",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_STACK, _REPO),
    concerns=_is_v1_decoder,
    when=lambda c: c.checkpoint.role is Role.MULTIMODAL and not _is_text_wrapper(c),
    message=lambda c: (
        f"`{_architecture(c)}` takes images or sound, which the v1 stack has no input for; "
        "`inference_stack: v2` and `enginehouse.runtime: vllm` do, which we have not run. As a "
        "text model it may load or fail."
    ),
    source=_MULTIMODAL,
    bad=on_trtllm(Example(config=_H100, checkpoint=_LLAVA)),
    good=on_trtllm(Example(config=_H100, checkpoint=LLAMA_8B)),
)

UNKNOWN_CLASS = Rule(
    code="EH616",
    name="architecture-that-no-runtime-knows",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=generates,
    when=lambda c: (
        c.checkpoint.architecture is not None
        and not is_known_generator(c.checkpoint.architecture)
        and not c.checkpoint.remote_code
    ),
    message=lambda c: (
        f"`{_architecture(c)}` is a class that neither TensorRT-LLM nor vLLM nor transformers "
        "knows, so nothing here can load it. Check `architectures` in its `config.json`; a "
        "fine-tune keeps the class of the model that it started from."
    ),
    source=KNOWN_SOURCE,
    bad=Example(config=_H100, checkpoint=facts(architectures=["FooBarForCausalLM"])),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)

UNNAMED_CLASS = Rule(
    code="EH617",
    name="architecture-that-the-engine-does-not-name",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=_is_v1_decoder,
    when=lambda c: (
        c.checkpoint.role is Role.CAUSAL
        and c.checkpoint.engine.engine is Engine.ENGINE_BUILDER_LLM
        and c.checkpoint.architecture not in ENGINE_BUILDER
        and is_known_generator(c.checkpoint.architecture or "")
        and not has_no_class(c)
    ),
    message=lambda c: (
        f"`{_architecture(c)}` is not among the classes that the engine names, and is built as a "
        "plain decoder. One page takes every class that ends with `ForCausalLM` and lists Phi 3; "
        "the newer list leaves it out."
    ),
    source=sources.engine_builder_overview("Supported model types"),
    bad=on_trtllm(
        Example(
            config=_H100, checkpoint=facts(architectures=["Phi3ForCausalLM"], model_type="phi3")
        )
    ),
    good=on_trtllm(Example(config=_H100, checkpoint=LLAMA_8B)),
)

LLAMA_4 = Rule(
    code="EH618",
    name="llama-4-on-v1",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_STACK),
    concerns=_is_v1_decoder,
    when=lambda c: (c.checkpoint.model_type or "").startswith("llama4"),
    message=lambda _: (
        "Llama 4 under the v1 stack: one page of the hosted product lists it there, and the "
        "engine's own sends it to `inference_stack: v2`, which is what serves its experts."
    ),
    source=sources.engines_overview("Engine-Builder-LLM vs BIS-LLM"),
    bad=on_trtllm(
        Example(
            config=_H100,
            checkpoint=facts(architectures=["Llama4ForCausalLM"], model_type="llama4_text"),
        )
    ),
    good=on_trtllm(Example(config=_H100, checkpoint=LLAMA_8B)),
)

LARGE_ON_V1 = Rule(
    code="EH619",
    name="model-of-the-other-stack-on-v1",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_STACK),
    concerns=_is_v1_decoder,
    when=lambda c: (
        c.checkpoint.role is Role.CAUSAL
        and (c.checkpoint.experts or 0) < 2
        and c.checkpoint.engine.engine is Engine.BIS_LLM
    ),
    message=lambda c: f"{c.checkpoint.engine.reason} Set `inference_stack: v2`.",
    source=sources.engines_overview("Engine selection"),
    bad=on_trtllm(
        Example(
            config=_H100, checkpoint=facts(architectures=["Mamba2ForCausalLM"], model_type="mamba2")
        )
    ),
    good=on_trtllm(Example(config=_H100, checkpoint=LLAMA_8B)),
)

RERANKER = Rule(
    code="EH629",
    name="causal-reranker",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=on_gpu(lambda c: c.spec.base_model.is_encoder),
    when=_ranks_by_next_token,
    message=lambda c: (
        f"`{_repo(c)}` is a reranker kept as `{_architecture(c)}`: it scores by the next token. "
        "Convert it to a `ForSequenceClassification` checkpoint with one label first, as the "
        "public `-seq` copies of it are."
    ),
    source=sources.engines_overview("Engine selection, reranking"),
    bad=Example(
        config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4", _ROUTE: "/rerank"},
        checkpoint=LLAMA_8B,
    ),
    good=Example(
        config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4", _ROUTE: "/rerank"},
        checkpoint=facts(
            architectures=["LlamaForSequenceClassification"], id2label={"0": "LABEL_0"}
        ),
    ),
)
