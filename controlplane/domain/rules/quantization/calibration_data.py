"""EH2: the data that quantization is calibrated on."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization_of_models import ESSENTIAL_PARAMETERS
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, LLAMA_70B, Config, Example
from controlplane.domain.rules.quantization.precision import QUANTIZATION, is_quantized
from controlplane.domain.rules.rule import Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.engine_build import QuantizationConfig

_BLOCK = "trt_llm.build.quantization_config"
_SIZE = f"{_BLOCK}.calib_size"
_LENGTH = f"{_BLOCK}.calib_max_seq_length"
_DATASET = f"{_BLOCK}.calib_dataset"
_OWN_SAMPLES = "enginehouse.calibration.samples"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_CHAT_DATASETS = frozenset({"baseten/quant_calibration_dataset_v1", "HuggingFaceH4/ultrachat_200k"})
"""Known to hold their rows as messages."""
_NEWS = frozenset({"abisee/cnn_dailymail", "cnn_dailymail"})
_STEP = 64
LLAMA_SAMPLES = (1024, 1536)
"""The guide's standard range for Llama variants."""
_LARGE_SAMPLES = 1024
_GUIDE = sources.quantization_guide
_FP8: Config = {"resources.accelerator": "H100", QUANTIZATION: "fp8"}
_FP8_70B: Config = {
    "resources.accelerator": "H100:4", QUANTIZATION: "fp8",
    "trt_llm.build.tensor_parallel_count": 4,
}  # fmt: skip


def _given(c: Context) -> QuantizationConfig:
    return c.spec.engine_build.quantization_config


def _repo(c: Context) -> str:
    return c.spec.checkpoint.repo if c.spec.checkpoint else ""


def _is_llama(c: Context) -> bool:
    return c.checkpoint.model_type == "llama"


def _is_few(c: Context) -> bool:
    return is_quantized(c) and c.spec.calibration_samples < _LARGE_SAMPLES


def samples_words(c: Context) -> str:
    path = c.spec.calibration_samples_path
    return f"`{path.removeprefix(f'{_BLOCK}.')}` is {c.spec.calibration_samples}"


def _enough(c: Context) -> Patch:
    return {**without_own_samples(c), _SIZE: _LARGE_SAMPLES}


def without_own_samples(c: Context) -> Patch:
    """Return the patch that lets `calib_size` say again how many rows are used."""
    own = c.spec.calibration_samples_path
    return {} if own == _SIZE else {own: None}


FEW_FOR_LARGE = Rule(
    code="EH225",
    name="few-calibration-samples-for-a-large-model",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=lambda c: (c.spec.calibration_samples_path,),
    concerns=_is_few,
    when=lambda c: (c.checkpoint.parameters or 0) > ESSENTIAL_PARAMETERS and not _is_llama(c),
    message=lambda c: (
        f"{samples_words(c)} for {(c.checkpoint.parameters or 0) / 1e9:.0f} B "
        f"parameters; larger models need more samples, {_LARGE_SAMPLES} or so."
    ),
    fix=Fix(label=f"Calibrate on {_LARGE_SAMPLES} samples", patch=_enough, safe=False),
    source=_GUIDE("Calibration configuration"),
    bad=Example(
        config={**_FP8_70B, _SIZE: 512},
        checkpoint=LLAMA_70B.model_copy(update={"model_type": "qwen3"}),
    ),
    good=Example(config={**_FP8_70B, _SIZE: 1024}, checkpoint=LLAMA_70B),
)

LLAMA_RANGE = Rule(
    code="EH226",
    name="few-calibration-samples-on-llama",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=lambda c: (c.spec.calibration_samples_path,),
    concerns=_is_few,
    when=_is_llama,
    message=lambda c: (
        f"{samples_words(c)}; the guide's standard for Llama is "
        f"{LLAMA_SAMPLES[0]} to {LLAMA_SAMPLES[1]}, while its own sample block has 768."
    ),
    fix=Fix(label=f"Calibrate on {LLAMA_SAMPLES[0]} samples", patch=_enough, safe=False),
    source=_GUIDE("Llama models"),
    bad=Example(config={**_FP8, _SIZE: 768}, checkpoint=LLAMA_8B),
    good=Example(config={**_FP8, _SIZE: 1024}, checkpoint=LLAMA_8B),
)

LENGTH_LEFT_OPEN = Rule(
    code="EH227",
    name="calibration-length-unset",
    severity=Severity.HINT,
    fields=at(_LENGTH),
    concerns=lambda c: is_quantized(c) and c.spec.engine_build.gives("quantization_config"),
    when=lambda c: not _given(c).gives("calib_max_seq_length"),
    message=lambda c: (
        f"`calib_max_seq_length` is unset and becomes {_given(c).calib_max_seq_length}, as in "
        "the hosted product's code; its documentation says 2048."
    ),
    fix=Fix(
        label="Write it down",
        patch=lambda c: {_LENGTH: _given(c).calib_max_seq_length},
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, quantization_config"),
    bad=Example(config={**_FP8, _SIZE: 1024}, checkpoint=LLAMA_8B),
    good=Example(config={**_FP8, _SIZE: 1024, _LENGTH: 1536}, checkpoint=LLAMA_8B),
)

BEYOND_POSITIONS = Rule(
    code="EH228",
    name="calibration-longer-than-the-model-knows",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_LENGTH),
    concerns=is_quantized,
    when=lambda c: _STEP <= (c.checkpoint.max_positions or 2**31) < _given(c).calib_max_seq_length,
    message=lambda c: (
        f"Samples are cut at {_given(c).calib_max_seq_length:,} tokens, and the model knows "
        f"{c.checkpoint.max_positions or 0:,} positions: scales would be taken from nonsense."
    ),
    fix=Fix(
        label="Use the model's own limit",
        patch=lambda c: {_LENGTH: (c.checkpoint.max_positions or 0) // _STEP * _STEP},
        safe=False,
    ),
    source=_GUIDE("Calibration configuration"),
    bad=Example(
        config={**_FP8, "trt_llm.build.max_seq_len": 1024},
        checkpoint=LLAMA_8B.model_copy(update={"max_positions": 1024}),
    ),
    good=Example(config=_FP8, checkpoint=LLAMA_8B),
)

CHAT_WITHOUT_TEMPLATE = Rule(
    code="EH229",
    name="chat-calibration-without-a-template",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_DATASET, _REPO),
    concerns=lambda c: is_quantized(c) and _given(c).calib_dataset in _CHAT_DATASETS,
    when=lambda c: c.checkpoint.has_chat_template is False,
    message=lambda c: (
        f"`{_given(c).calib_dataset}` holds its samples as messages, and the tokenizer of "
        f"`{_repo(c)}` has no chat template to write them with. Use data with a `text` column, or "
        "add `chat_template.jinja` to the checkpoint."
    ),
    fix=Fix(label="Use the default data", patch=lambda _: {_DATASET: None}, safe=False),
    source=_GUIDE("Calibration datasets"),
    bad=Example(
        config={**_FP8, _DATASET: "baseten/quant_calibration_dataset_v1"},
        checkpoint=LLAMA_8B.model_copy(update={"has_chat_template": False}),
    ),
    good=Example(
        config={**_FP8, _DATASET: "baseten/quant_calibration_dataset_v1"}, checkpoint=LLAMA_8B
    ),
)

NEWS_FOR_CODE = Rule(
    code="EH230",
    name="news-text-for-a-specialized-model",
    severity=Severity.HINT,
    fields=at(_DATASET),
    concerns=is_quantized,
    when=lambda c: (
        _given(c).calib_dataset in _NEWS
        and any(word in _repo(c).lower() for word in ("code", "math", "medic"))
    ),
    message=lambda c: (
        f"`{_repo(c)}` is made for a domain, and `{_given(c).calib_dataset}` is news text. Samples "
        "of the domain keep more of its accuracy: name a data set with a `train` split and a "
        "`text` or `messages` column."
    ),
    source=_GUIDE("Calibration datasets"),
    bad=Example(config={**_FP8, _REPO: "/checkpoints/qwen-coder"}, checkpoint=LLAMA_8B),
    good=Example(config=_FP8, checkpoint=LLAMA_8B),
)


def _idle(c: Context) -> tuple[str, ...]:
    own = f"{c.spec.settings_path}.calibration"
    return (
        *((_BLOCK,) if _given(c) != QuantizationConfig() else ()),
        *((own,) if c.spec.settings.calibration.samples is not None else ()),
    )


IDLE_CALIBRATION = Rule(
    code="EH231",
    name="calibration-without-quantization",
    severity=Severity.HINT,
    fields=lambda c: _idle(c) or (_BLOCK,),
    concerns=lambda c: not is_quantized(c),
    when=lambda c: bool(_idle(c)),
    message=lambda c: (
        " and ".join(f"`{path.rpartition('.')[2]}`" for path in _idle(c))
        + f" {'has' if len(_idle(c)) == 1 else 'have'} no effect with "
        "`quantization_type: no_quant`."
    ),
    fix=Fix(label="Remove it", patch=lambda c: dict.fromkeys(_idle(c)), safe=True),
    source=_GUIDE("Calibration configuration"),
    bad=Example(config={_SIZE: 512}),
    good=Example(config=_FP8, checkpoint=LLAMA_8B),
)

DATASET_FORM = Rule(
    code="EH232",
    name="calibration-data-in-another-form",
    severity=Severity.ERROR,
    fields=at(_DATASET),
    concerns=is_quantized,
    when=lambda c: not _given(c).calib_dataset.strip() or "://" in _given(c).calib_dataset,
    message=lambda c: (
        f"`{_given(c).calib_dataset}` is neither a data set of the hub (`owner/name`) nor a local "
        "path. What a path holds is read from its columns, never guessed from its name."
    ),
    fix=Fix(label="Use the default data", patch=lambda _: {_DATASET: None}, safe=False),
    source=_GUIDE("Calibration datasets"),
    bad=Example(config={**_FP8, _DATASET: "https://example.com/a.jsonl"}, checkpoint=LLAMA_8B),
    good=Example(config={**_FP8, _DATASET: "/data/samples.jsonl"}, checkpoint=LLAMA_8B),
)

OWN_SAMPLES = Rule(
    code="EH233",
    name="own-number-of-calibration-samples",
    severity=Severity.HINT,
    fields=lambda c: (c.spec.calibration_samples_path, _SIZE),
    concerns=is_quantized,
    when=lambda c: c.spec.calibration_samples != _given(c).calib_size,
    message=lambda c: (
        f"{samples_words(c)} and takes the place of `calib_size`, which is {_given(c).calib_size}."
    ),
    fix=Fix(label="Use calib_size", patch=without_own_samples, safe=False),
    source=sources.enginehouse("calibration"),
    bad=Example(config={**_FP8, _SIZE: 1024, _OWN_SAMPLES: 1100}, checkpoint=LLAMA_8B),
    good=Example(config={**_FP8, _SIZE: 1024, _OWN_SAMPLES: 1024}, checkpoint=LLAMA_8B),
)
