"""Model classes that Transformers does not have, or that only the checkpoint's own code has."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import unquantized
from controlplane.domain.failures.pattern import Pattern, log_pattern
from controlplane.domain.failures.registry import quantization, remote_code

_TRANSFORMERS = "transformers 5.24.0"

PATTERNS = (
    Pattern.of(
        quantization.ARCHITECTURE,
        r"has model type `(?P<type>[\w.-]+)` but Transformers does not recognize",
        sentence="{repo} has the model type `{type}`, which the Transformers of this build "
        "worker does not have.",
        hint="A newer release may know it. Unquantized, an engine may serve it all the same: "
        "`quantization_type: no_quant`.",
        field=fields.REPO,
        fix=unquantized,
        text="ValueError: The checkpoint you are trying to load has model type `kimi_k9` but "
        "Transformers does not recognize this architecture.",
        source=f"{_TRANSFORMERS}, models/auto/configuration_auto.py",
    ),
    log_pattern(
        "EHP-NO-MODEL-TYPE",
        Blame.CHECKPOINT,
        r"Unrecognized model in (?P<path>\S+?)\. ",
        "config.json of {repo} is missing or has no `model_type`, so nobody knows what "
        "model it is.",
        "Point repo at a checkpoint in the Hugging Face form, with `model_type` in its "
        "config.json.",
        field=fields.REPO,
        text="ValueError: Unrecognized model in model. Should have a `model_type` "
        "key in its config.json.",
        source=f"{_TRANSFORMERS}, models/auto/configuration_auto.py",
    ),
    log_pattern(
        "EHP-WRONG-CLASS",
        Blame.CONFIGURATION,
        r"Unrecognized configuration class <class '[\w.]*?(?P<config>\w+)'> for this kind of "
        r"AutoModel: (?P<wanted>\w+)",
        "{repo} is a model of class `{config}`, which cannot be loaded as `{wanted}`.",
        "For an embedding, reranking or classification model set "
        "`trt_llm.build.base_model: encoder`; images and sound are not built here.",
        field="trt_llm.build.base_model",
        text="ValueError: Unrecognized configuration class <class "
        "'transformers.models.vit.configuration_vit.ViTConfig'> for this kind of AutoModel: "
        "AutoModelForCausalLM.",
        source=f"{_TRANSFORMERS}, models/auto/auto_factory.py",
    ),
    log_pattern(
        "EHP-ROPE",
        Blame.CHECKPOINT,
        r"for 'rope_type'='(?P<type>[^'\n]+)'",
        "config.json of {repo} asks for the position encoding `{type}`, which "
        "Transformers does not have.",
        "Check `rope_parameters` (or `rope_scaling`) in its config.json: linear, dynamic, "
        "yarn, longrope and llama3 are known.",
        field=fields.REPO,
        stands_before_traceback=True,
        text="[transformers] Missing validation function in 'RotaryEmbeddingConfigMixin' for "
        "'rope_type'='weird'",
        source=f"{_TRANSFORMERS}, modeling_rope_utils.py",
    ),
    Pattern.of(
        remote_code.NOT_GRANTED,
        r"contains custom code which must be executed|"
        r"requires you to execute custom code contained in the model repository",
        sentence="{repo} can only be loaded by Python code inside the checkpoint, and a build "
        "runs no code that it fetched.",
        hint="Use a checkpoint whose architecture Transformers has, or serve this one unquantized.",
        field=fields.REPO,
        fix=unquantized,
        text="ValueError: The repository model contains custom code which must be "
        "executed to correctly load the model.",
        source=f"{_TRANSFORMERS}, dynamic_module_utils.py",
    ),
    log_pattern(
        "EHP-QUANTIZATION-PACKAGE",
        Blame.CHECKPOINT,
        r"(?:quantized model|-bit quantization) requires (?P<package>[\w-]+)|"
        r"required for (?P<method>[\w-]+) quantization\. Please install",
        "{repo} is already quantized in a form that only the package {package}{method} "
        "reads, which builds do not use.",
        "Name the original, unquantized weights; or serve it as it is with "
        "`quantization_type: no_quant`.",
        field=fields.REPO,
        fix=unquantized,
        text="ImportError: Loading an AWQ quantized model requires gptqmodel. Please install "
        "it with `pip install gptqmodel`",
        source=f"{_TRANSFORMERS}, quantizers/quantizer_awq.py",
    ),
    log_pattern(
        "EHP-ATTENTION",
        Blame.CHECKPOINT,
        r"(?P<name>FlashAttention\d?) has been toggled on, but it cannot",
        "config.json of {repo} insists on {name}, which this build worker does not have.",
        "Remove `_attn_implementation` from its config.json: the default does as well here.",
        field=fields.REPO,
        text="ImportError: FlashAttention2 has been toggled on, but it cannot be used due to "
        "the following error: the package for FlashAttention2 doesn't seem to be installed.",
        source=f"{_TRANSFORMERS}, modeling_utils.py",
    ),
    log_pattern(
        "EHP-REMOTE-PACKAGE",
        Blame.MACHINE,
        r"modeling file requires the following packages that were not found in your "
        r"environment: (?P<packages>[\w, .-]+?)\. Run",
        "The code that {repo} brings imports {packages}, which this build worker does not have.",
        "Install it beside ModelOpt, or use a checkpoint whose class transformers has.",
        field=fields.REPO,
        text="ImportError: This modeling file requires the following packages that were not "
        "found in your environment: flash_attn, einops. Run `pip install flash_attn einops`",
        source=f"{_TRANSFORMERS}, dynamic_module_utils.py",
        checked="2026-11-30",
    ),
)
