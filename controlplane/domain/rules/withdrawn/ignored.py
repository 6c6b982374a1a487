"""EH9: settings of the hosted product's images and engines that do nothing here."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import V2
from controlplane.domain.spec.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV1, VersionOverrides

_BUILD = "trt_llm.build"
_OVERRIDES = "trt_llm.version_overrides"
_SWITCHES = ("max_prompt_embedding_table_size", "gather_all_token_logits", "strongly_typed")
_REMOTE_CODE = ("model_module_dir", "model_class_filename", "model_class_name", "use_local_src")
_L4: Config = {"resources.accelerator": "L4"}


def _versions(c: Context) -> list[str]:
    given = c.spec.trt_llm.version_overrides
    return [name for name in VersionOverrides.model_fields if getattr(given, name) is not None]


def _switches(c: Context) -> list[str]:
    build = c.spec.engine_build
    return [name for name in _SWITCHES if getattr(build, name)]


def _remote_code(c: Context) -> list[str]:
    return [
        name for name in _REMOTE_CODE if getattr(c.spec, name) != Spec.model_fields[name].default
    ]


VERSIONS = Rule(
    code="EH908",
    name="versions-of-hosted-images",
    severity=Severity.HINT,
    fields=lambda c: tuple(f"{_OVERRIDES}.{name}" for name in _versions(c)) or (_OVERRIDES,),
    may_mark=tuple(f"{_OVERRIDES}.{name}" for name in VersionOverrides.model_fields),
    when=lambda c: bool(_versions(c)),
    message=lambda c: (
        "Versions of the hosted product's images mean nothing here: "
        + ", ".join(f"`{name}`" for name in _versions(c))
        + ". The passport of a build names the versions that made it."
    ),
    fix=Fix(label="Remove them", patch=lambda _: {_OVERRIDES: None}, safe=True),
    source=sources.truss("trt_llm_config.py, version_overrides"),
    bad=Example(config={_OVERRIDES: {"briton_version": "0.17.0"}}),
    good=Example(),
)

ENGINE_SWITCHES = Rule(
    code="EH909",
    name="switches-of-compiled-engines",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=lambda c: tuple(f"{_BUILD}.{name}" for name in _switches(c)) or (_BUILD,),
    may_mark=tuple(f"{_BUILD}.{name}" for name in _SWITCHES),
    when=lambda c: bool(_switches(c)),
    message=lambda c: (
        "Read when an engine was compiled, and TensorRT-LLM no longer compiles one: "
        + ", ".join(f"`{name}`" for name in _switches(c))
        + "."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: {f"{_BUILD}.{name}": None for name in _switches(c)},
        safe=True,
    ),
    source=sources.tensorrt_llm("PyTorch backend"),
    bad=on_trtllm(Example(config={**_L4, f"{_BUILD}.strongly_typed": True})),
    good=on_trtllm(Example(config=_L4)),
)

REMOTE_CODE = Rule(
    code="EH910",
    name="own-model-code",
    severity=Severity.WARNING,
    fields=lambda c: tuple(_remote_code(c)) or ("model_class_name",),
    may_mark=_REMOTE_CODE,
    when=lambda c: bool(_remote_code(c)),
    message=lambda c: (
        "No code of a config runs here, so the engine answers by itself. The hosted product runs "
        "a `model.py` around its engine, which is named by "
        + ", ".join(f"`{name}`" for name in _remote_code(c))
        + "."
    ),
    fix=Fix(label="Serve without it", patch=lambda c: dict.fromkeys(_remote_code(c)), safe=False),
    source=sources.truss("custom engine builder, model.py"),
    bad=Example(config={"model_class_filename": "my_model.py"}),
    good=Example(),
)

SKIPPED_BUILD = Rule(
    code="EH911",
    name="skipped-build-on-v1",
    severity=Severity.HINT,
    fields=at(f"{_BUILD}.skip_build_result"),
    concerns=lambda c: isinstance(c.spec.trt_llm, TrtLlmV1),
    when=lambda c: c.spec.engine_build.skip_build_result,
    message=lambda _: (
        "`skip_build_result` has a meaning in the v2 stack only; here a build always checks and "
        "packages the checkpoint."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {f"{_BUILD}.skip_build_result": None}, safe=True),
    source=sources.truss("trt_llm_config.py, v2 build"),
    bad=Example(config={f"{_BUILD}.skip_build_result": True}),
    good=Example(config={**V2, f"{_BUILD}.skip_build_result": True}, checkpoint=LLAMA_8B),
)

OLD_PYTHON = Rule(
    code="EH912",
    name="python-that-is-being-dropped",
    severity=Severity.HINT,
    fields=at("python_version"),
    when=lambda c: c.spec.python_version == "py39",
    message=lambda _: (
        "`python_version: py39` is deprecated by the hosted product, and no code of a config runs "
        "here, so it has no effect."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {"python_version": None}, safe=True),
    source=sources.truss("truss_config.py, python_version"),
    bad=Example(config={"python_version": "py39"}),
    good=Example(config={"python_version": "py313"}),
)

AUTOSCALING = Rule(
    code="EH913",
    name="autoscaling-in-the-config",
    severity=Severity.HINT,
    fields=at("bis_llm.additional_autoscaling_config"),
    when=lambda c: (
        c.spec.bis_llm is not None and c.spec.bis_llm.additional_autoscaling_config is not None
    ),
    message=lambda _: (
        "Autoscaling metrics in the config have no effect. Set the minimum and maximum number of "
        "replicas on the deployment."
    ),
    fix=Fix(
        label="Remove it",
        patch=lambda _: {"bis_llm.additional_autoscaling_config": None},
        safe=True,
    ),
    source=sources.engine_builder_overview("Model selection"),
    bad=Example(
        config={
            "bis_llm": {
                "version": "1",
                "additional_autoscaling_config": {"metrics": [{"name": "tokens", "target": 1000}]},
            }
        }
    ),
    good=Example(),
)
