"""What this release does not do yet. Each rule goes when the work behind it lands; its code stays
taken (`catalogue.WITHDRAWN_CODES`)."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_trtllm
from controlplane.domain.rules.other_runtimes import name_runtime, other_engines, others_started
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    NATIVE,
    TRTLLM,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
)
from controlplane.domain.runtimes.capability import Feature
from controlplane.domain.runtimes.choice import was_run

_ACCELERATOR = "resources.accelerator"
_RELEASE = sources.enginehouse("what this release builds and serves")


def _serve_on_cpu(c: Context) -> Patch:
    return {
        _ACCELERATOR: None,
        "resources.use_gpu": None,
        "enginehouse.runtime": None,
        "model_metadata.enginehouse.runtime": None,
        c.spec.tensor_parallel_path: None,
        "trt_llm.build.pipeline_parallel_count": None,
        "trt_llm.build.sequence_parallel_count": None,
    }


def _use_what_starts(c: Context) -> Patch:
    others = others_started(c)
    return name_runtime(others[0]) if others else _serve_on_cpu(c)


def _use_what_was_run(c: Context) -> Patch | None:
    others = [runtime for runtime in others_started(c) if was_run(runtime)]
    return name_runtime(others[0]) if others else None


def _started(c: Context) -> str:
    hosts = f"with `{c.gpu.kind}`" if c.spec.accelerator else "here"
    if not c.known.runtimes:
        return f"There is no host {hosts}"
    names = " and ".join(f"`{each}`" for each in sorted(c.known.runtimes))
    return f"The hosts {hosts} start {names} alone"


NO_DRIVER = Rule(
    code="EH690",
    name="runtime-in-this-release",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=GPU_RUNTIMES,
    fields=at(_ACCELERATOR, "enginehouse.runtime"),
    when=lambda c: c.known.runtimes is not None and c.runtime not in c.known.runtimes,
    message=lambda c: (
        f"{_started(c)}; `{c.runtime}` "
        f"{'on ' + str(c.spec.accelerator) + ' ' if c.spec.accelerator else ''}is checked and "
        "planned, not built."
    ),
    fix=Fix(label="Use an engine that starts here", patch=_use_what_starts, safe=False),
    otherwise=other_engines,
    source=_RELEASE,
    bad=Example(
        config={_ACCELERATOR: "H100", "enginehouse.runtime": "vllm"},
        checkpoint=LLAMA_8B,
        runtimes=frozenset({"native"}),
    ),
    good=Example(
        config={_ACCELERATOR: "H100"}, checkpoint=LLAMA_8B, runtimes=frozenset({"native", "vllm"})
    ),
)


def _why_not_on_gpu(c: Context) -> str:
    """Return why the native engine does not take the GPUs asked for; empty where it does."""
    capability = c.can(Feature.ACCELERATOR)
    if capability.is_refused:
        return f"does not run on `{c.gpu.kind}`: {capability.how}"
    if c.spec.accelerator_count > 1:
        return (
            f"computes on one GPU, and the config asks for `{c.spec.accelerator}`; vLLM divides a "
            "model over several"
        )
    return ""


NATIVE_ON_GPU = Rule(
    code="EH691",
    name="native-engine-on-gpu",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=NATIVE,
    fields=at(_ACCELERATOR, "enginehouse.runtime"),
    when=lambda c: bool(_why_not_on_gpu(c)),
    message=lambda c: f"The native engine {_why_not_on_gpu(c)}.",
    fix=Fix(label="Use vLLM or the CPU", patch=_use_what_starts, safe=False),
    otherwise=other_engines,
    source=_RELEASE,
    bad=Example(config={_ACCELERATOR: "L4:2", "enginehouse.runtime": "native"}),
    good=Example(config={_ACCELERATOR: "L4", "enginehouse.runtime": "native"}),
)

NOT_YET_RUN = Rule(
    code="EH692",
    name="runtime-not-yet-run",
    severity=Severity.HINT,
    about_runtime=True,
    runtimes=TRTLLM,
    fields=at("enginehouse.runtime"),
    when=lambda c: c.known.runtimes is not None and c.runtime in c.known.runtimes,
    message=lambda c: (
        "A host here starts TensorRT-LLM, which we have not yet run ourselves: its driver was "
        "written from its source and documents."
    ),
    fix=Fix(label="Use an engine that we ran", patch=_use_what_was_run, safe=False),
    source=_RELEASE,
    bad=on_trtllm(
        Example(
            config={_ACCELERATOR: "H100"},
            checkpoint=LLAMA_8B,
            runtimes=frozenset({"native", "vllm", "trtllm"}),
        )
    ),
    good=on_trtllm(Example(config={_ACCELERATOR: "H100", "enginehouse.runtime": "vllm"})),
)
