"""Model classes that Transformers does not have, or that only the checkpoint's own code has."""

import re

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import unquantized
from controlplane.domain.failures.pattern import Example, Pattern
from controlplane.domain.failures.registry import quantization, remote_code

_CHECKED = "2026-11-28"
_TRANSFORMERS = "transformers 5.24.0"

PATTERNS = (
    Pattern.of(
        quantization.ARCHITECTURE,
        expression=re.compile(
            r"has model type `(?P<type>[\w.-]+)` but Transformers does not recognize"
        ),
        sentence="{repo} has the model type `{type}`, which the Transformers of this build "
        "worker does not have.",
        hint="A newer release may know it. Unquantized, an engine may serve it all the same: "
        "`quantization_type: no_quant`.",
        field=fields.REPO,
        fix_for=unquantized,
        example=Example(
            text="ValueError: The checkpoint you are trying to load has model type `kimi_k9` but "
            "Transformers does not recognize this architecture.",
            source=f"{_TRANSFORMERS}, models/auto/configuration_auto.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-NO-MODEL-TYPE",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"Unrecognized model in (?P<path>\S+?)\. "),
        sentence="config.json of {repo} is missing or has no `model_type`, so nobody knows what "
        "model it is.",
        hint="Point repo at a checkpoint in the Hugging Face form, with `model_type` in its "
        "config.json.",
        field=fields.REPO,
        example=Example(
            text="ValueError: Unrecognized model in model. Should have a `model_type` "
            "key in its config.json.",
            source=f"{_TRANSFORMERS}, models/auto/configuration_auto.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-WRONG-CLASS",
        blame=Blame.CONFIGURATION,
        expression=re.compile(
            r"Unrecognized configuration class <class '[\w.]*?(?P<config>\w+)'> for this kind of "
            r"AutoModel: (?P<wanted>\w+)"
        ),
        sentence="{repo} is a model of class `{config}`, which cannot be loaded as `{wanted}`.",
        hint="For an embedding, reranking or classification model set "
        "`trt_llm.build.base_model: encoder`; images and sound are not built here.",
        field="trt_llm.build.base_model",
        example=Example(
            text="ValueError: Unrecognized configuration class <class "
            "'transformers.models.vit.configuration_vit.ViTConfig'> for this kind of AutoModel: "
            "AutoModelForCausalLM.",
            source=f"{_TRANSFORMERS}, models/auto/auto_factory.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-ROPE",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"for 'rope_type'='(?P<type>[^'\n]+)'"),
        sentence="config.json of {repo} asks for the position encoding `{type}`, which "
        "Transformers does not have.",
        hint="Check `rope_parameters` (or `rope_scaling`) in its config.json: linear, dynamic, "
        "yarn, longrope and llama3 are known.",
        field=fields.REPO,
        stands_before_traceback=True,
        example=Example(
            text="[transformers] Missing validation function in 'RotaryEmbeddingConfigMixin' for "
            "'rope_type'='weird'",
            source=f"{_TRANSFORMERS}, modeling_rope_utils.py",
            checked=_CHECKED,
        ),
    ),
    Pattern.of(
        remote_code.NOT_GRANTED,
        expression=re.compile(
            r"contains custom code which must be executed|"
            r"requires you to execute custom code contained in the model repository"
        ),
        sentence="{repo} can only be loaded by Python code inside the checkpoint, and a build "
        "runs no code that it fetched.",
        hint="Use a checkpoint whose architecture Transformers has, or serve this one unquantized.",
        field=fields.REPO,
        fix_for=unquantized,
        example=Example(
            text="ValueError: The repository model contains custom code which must be "
            "executed to correctly load the model.",
            source=f"{_TRANSFORMERS}, dynamic_module_utils.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-QUANTIZATION-PACKAGE",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"(?:quantized model|-bit quantization) requires (?P<package>[\w-]+)|"
            r"required for (?P<method>[\w-]+) quantization\. Please install"
        ),
        sentence="{repo} is already quantized in a form that only the package {package}{method} "
        "reads, which builds do not use.",
        hint="Name the original, unquantized weights; or serve it as it is with "
        "`quantization_type: no_quant`.",
        field=fields.REPO,
        fix_for=unquantized,
        example=Example(
            text="ImportError: Loading an AWQ quantized model requires gptqmodel. Please install "
            "it with `pip install gptqmodel`",
            source=f"{_TRANSFORMERS}, quantizers/quantizer_awq.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-ATTENTION",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"(?P<name>FlashAttention\d?) has been toggled on, but it cannot"),
        sentence="config.json of {repo} insists on {name}, which this build worker does not have.",
        hint="Remove `_attn_implementation` from its config.json: the default does as well here.",
        field=fields.REPO,
        example=Example(
            text="ImportError: FlashAttention2 has been toggled on, but it cannot be used due to "
            "the following error: the package for FlashAttention2 doesn't seem to be installed.",
            source=f"{_TRANSFORMERS}, modeling_utils.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-REMOTE-PACKAGE",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"modeling file requires the following packages that were not found in your "
            r"environment: (?P<packages>[\w, .-]+?)\. Run"
        ),
        sentence="The code that {repo} brings imports {packages}, which this build worker does not "
        "have.",
        hint="Install it beside ModelOpt, or use a checkpoint whose class transformers has.",
        field=fields.REPO,
        example=Example(
            text="ImportError: This modeling file requires the following packages that were not "
            "found in your environment: flash_attn, einops. Run `pip install flash_attn einops`",
            source=f"{_TRANSFORMERS}, dynamic_module_utils.py",
            checked="2026-11-30",
        ),
    ),
)
