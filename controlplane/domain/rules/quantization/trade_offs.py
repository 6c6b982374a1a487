"""EH2: what a precision costs and brings, beyond whether the hardware has it."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import FP4_CAPABILITY, FP8, FP8_CAPABILITY
from controlplane.domain.facts.quantization_of_models import ESSENTIAL_PARAMETERS
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, LLAMA_8B, LLAMA_70B, Example, facts, on_trtllm
from controlplane.domain.rules.quantization.precision import (
    QUANTIZATION,
    is_quantized,
    quantizes_all_to_four_bits,
)
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    TRTLLM,
    Fix,
    Rule,
    Severity,
    at,
    generates,
    on_gpu,
)
from controlplane.domain.rules.serving.engine_arguments import (
    quantizes_kv_cache,
    v2_example,
    without_quantized_kv,
)
from controlplane.domain.spec.choices import BaseModelKind, QuantizationType

_ACCELERATOR = "resources.accelerator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_GUIDE = sources.quantization_guide
_B200 = {_ACCELERATOR: "B200"}
_FOUR_H100 = {_ACCELERATOR: "H100:4", "trt_llm.build.tensor_parallel_count": 4}
_MODELOPT = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"})
_NOTABLE_SHORTFALL = 0.08


def _kind(c: Context) -> QuantizationType:
    return c.spec.quantization_type


def _promised(c: Context) -> tuple[float, ...]:
    return _kind(c).precision.promised_saving


def _parameters(c: Context) -> int:
    return c.checkpoint.parameters or 0


FP4_ELSEWHERE = Rule(
    code="EH213",
    name="fp4-on-a-blackwell-gpu-that-no-page-names",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=at(QUANTIZATION, _ACCELERATOR),
    concerns=lambda c: _kind(c).is_fp4,
    when=lambda c: c.gpu.has_capability(*FP4_CAPABILITY) and c.gpu.kind != "B200",
    message=lambda c: (
        f"The pages of the hosted product keep `{_kind(c)}` to B200, while its parser and "
        f"TensorRT-LLM's own matrix take `{c.gpu.kind}` too; here it is allowed."
    ),
    source=_GUIDE("GPU support"),
    bad=on_trtllm(
        Example(config={_ACCELERATOR: "RTX_PRO_6000", QUANTIZATION: "fp4"}, checkpoint=LLAMA_8B)
    ),
    good=on_trtllm(Example(config={**_B200, QUANTIZATION: "fp4"}, checkpoint=LLAMA_8B)),
)

FP4_ON_SMALL = Rule(
    code="EH214",
    name="four-bits-on-a-small-model",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=lambda c: quantizes_all_to_four_bits(c) and generates(c),
    when=lambda c: 0 < _parameters(c) < ESSENTIAL_PARAMETERS,
    message=lambda c: (
        f"A model of {_parameters(c) / 1e9:.1f} B loses 3 to 5 points on benchmarks with "
        f"`{_kind(c)}` (Qwen3-8B from 77.5 to 74.4, Llama-3.1-8B from 78.9 to 74.0), where the "
        "engines page promises less than 1 %. `fp8` keeps it, `fp4_mlp_only` most of it."
    ),
    fix=Fix(label="Use fp8", patch=lambda _: {QUANTIZATION: "fp8"}, safe=False),
    source=sources.measured("NVFP4 model cards of ISTA-DASLab"),
    bad=Example(config={**_B200, QUANTIZATION: "fp4"}, checkpoint=LLAMA_8B),
    good=Example(config={**_B200, QUANTIZATION: "fp4"}, checkpoint=LLAMA_70B),
)

LLAMA_ON_B200 = Rule(
    code="EH215",
    name="full-four-bits-on-llama",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=quantizes_all_to_four_bits,
    # Below that size EH214 advises against four bits altogether.
    when=lambda c: c.checkpoint.model_type == "llama" and _parameters(c) >= ESSENTIAL_PARAMETERS,
    message=lambda c: (
        "For Llama on B200 the guide names `fp4_mlp_only` as the best balance of speed and "
        f"quality; `{_kind(c)}` also quantizes attention."
    ),
    fix=Fix(label="Use fp4_mlp_only", patch=lambda _: {QUANTIZATION: "fp4_mlp_only"}, safe=False),
    source=_GUIDE("Llama models"),
    bad=Example(config={**_B200, QUANTIZATION: "fp4"}, checkpoint=LLAMA_70B),
    good=Example(config={**_B200, QUANTIZATION: "fp4_mlp_only"}, checkpoint=LLAMA_70B),
)

LARGE_IN_16_BITS = Rule(
    code="EH216",
    name="large-model-in-sixteen-bits",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=lambda c: _kind(c).is_none and generates(c) and c.gpu.has_capability(*FP8_CAPABILITY),
    when=lambda c: (
        _parameters(c) > ESSENTIAL_PARAMETERS
        and c.checkpoint.existing_quantization is None
        and c.checkpoint.model_type not in c.memory.precisions.unquantized.get(FP8.label, ())
    ),
    message=lambda c: (
        f"{_parameters(c) / 1e9:.0f} B parameters in 16 bits: above 15 B the guide calls "
        f"quantization essential, and `{c.gpu.kind}` computes in FP8, which halves the weights. "
        "Keep 16 bits where accuracy comes first."
    ),
    fix=Fix(label="Use fp8", patch=lambda _: {QUANTIZATION: "fp8"}, safe=False),
    source=_GUIDE("When to use quantization"),
    bad=Example(config=_FOUR_H100, checkpoint=LLAMA_70B),
    good=Example(config={**_FOUR_H100, QUANTIZATION: "fp8"}, checkpoint=LLAMA_70B),
)

STACKED = Rule(
    code="EH217",
    name="low-bit-weights-with-eight-bit-kv-cache",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=quantizes_kv_cache,
    when=lambda c: _stored_bits(c) <= 4,
    message=lambda c: (
        f"Weights of {_stored_bits(c):.0f} bits and a KV cache of 8 lose accuracy twice, and users "
        "report poor text where either alone is well. Keep the KV cache in 16 bits unless memory "
        "leaves no choice."
    ),
    fix=Fix(
        label="Keep the KV cache in 16 bits",
        patch=without_quantized_kv,
        safe=False,
    ),
    source=sources.measured("vllm-project/vllm#10411"),
    bad=Example(config={**_B200, QUANTIZATION: "fp4_kv"}, checkpoint=LLAMA_70B),
    good=Example(config={**_B200, QUANTIZATION: "fp4"}, checkpoint=LLAMA_70B),
)


def _stored_bits(c: Context) -> float:
    existing = c.checkpoint.existing_quantization
    bits = 8 * c.spec.weight_bytes
    stored_bits = 8 * existing.bytes_per_weight if existing else bits
    return float(int(min(bits, stored_bits)))


def _saving(c: Context) -> float:
    stored = _parameters(c) * 2
    return 1 - c.plan.weight_bytes / stored if stored else 0.0


SAVING = Rule(
    code="EH220",
    name="saving-unlike-the-table",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("plan",),
    fields=at(QUANTIZATION),
    concerns=lambda c: bool(_promised(c)),
    when=lambda c: (
        _parameters(c) > 0
        and (len(_promised(c)) > 1 or _saving(c) < _promised(c)[0] - _NOTABLE_SHORTFALL)
    ),
    message=lambda c: (
        f"The pages say that `{_kind(c)}` saves "
        + " or ".join(f"{share:.0%}" for share in _promised(c))
        + f" of the memory. The weights of this model shrink by {_saving(c):.0%}, because "
        "embeddings and head stay in 16 bits; what the KV cache saves depends on its length."
    ),
    source=sources.engines_overview("Hardware requirements and optimization"),
    bad=Example(config={**_B200, QUANTIZATION: "fp4_kv"}, checkpoint=LLAMA_70B),
    good=Example(config={**_FOUR_H100, QUANTIZATION: "fp8"}, checkpoint=LLAMA_70B),
)

UNDOCUMENTED = Rule(
    code="EH221",
    name="precision-that-no-page-describes",
    severity=Severity.HINT,
    fields=at(QUANTIZATION),
    when=lambda c: _kind(c) is QuantizationType.FP8_MLP_ONLY,
    message=lambda _: (
        "`fp8_mlp_only` is in the hosted product's parser and on none of its pages; here it means "
        "FP8 in the MLPs and 16 bits in attention, embeddings and head."
    ),
    source=sources.truss("trt_llm_config.py, quantization types"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_mlp_only"}, checkpoint=LLAMA_8B),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B),
)

FP4_ENCODER = Rule(
    code="EH222",
    name="four-bit-encoder",
    severity=Severity.HINT,
    fields=at(QUANTIZATION),
    concerns=on_gpu(lambda c: c.spec.base_model is BaseModelKind.ENCODER),
    when=quantizes_all_to_four_bits,
    message=lambda c: (
        f"The guide gives BEI `{_kind(c)}` only in part and `fp4_mlp_only` in full, while the "
        "engines page lists FP4 for it without a limit."
    ),
    fix=Fix(label="Use fp4_mlp_only", patch=lambda _: {QUANTIZATION: "fp4_mlp_only"}, safe=False),
    source=_GUIDE("Engine support"),
    bad=Example(
        config={**_B200, "trt_llm.build.base_model": "encoder", QUANTIZATION: "fp4"},
        checkpoint=BERT,
    ),
    good=Example(
        config={**_B200, "trt_llm.build.base_model": "encoder", QUANTIZATION: "fp4_mlp_only"},
        checkpoint=BERT,
    ),
)

PREQUANTIZED_V1 = Rule(
    code="EH223",
    name="prequantized-checkpoint-on-v1",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    concerns=lambda c: not c.spec.is_v2 and not is_quantized(c),
    when=lambda c: (
        c.checkpoint.existing_quantization is not None
        and c.checkpoint.existing_quantization.method == "modelopt"
    ),
    message=lambda _: (
        "The checkpoint is a ModelOpt export, served as it is. The hosted product's configuration "
        "page refuses such checkpoints on v1, and its guide takes them with `no_quant`; its "
        "example is in the v2 stack."
    ),
    source=_GUIDE("Pre-quantized checkpoints"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "H100"}, checkpoint=_MODELOPT)),
    good=on_trtllm(v2_example({})),
)
