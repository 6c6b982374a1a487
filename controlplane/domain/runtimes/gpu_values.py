"""Where engines on GPUs use another value than the one asked for, whichever they are."""

from collections.abc import Iterator

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.runtime import Runtime
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV1


def gpu_values(
    spec: Spec, checkpoint: CheckpointFacts | None, runtime: Runtime
) -> Iterator[EffectiveValue]:
    """Yield length, builders and route where none is written."""
    is_encoder = spec.base_model.is_encoder
    if checkpoint is not None and spec.max_seq_len is None and not is_encoder:
        yield EffectiveValue(
            field=f"{spec.limits_path}.max_seq_len",
            asked=None,
            effective=checkpoint.max_positions,
            reason="The model's own limit, as none is written.",
        )
    if not spec.quantization_type.is_none:
        yield EffectiveValue(
            field="trt_llm.build.num_builder_gpus",
            asked=spec.engine_build.num_builder_gpus,
            effective=spec.engine_build.num_builder_gpus or spec.accelerator_count,
            reason="A build leases as many GPUs as a replica, as no number is written.",
        )
    if is_encoder:
        yield from route_values(spec, checkpoint, runtime)


def route_values(
    spec: Spec, checkpoint: CheckpointFacts | None, runtime: Runtime
) -> Iterator[EffectiveValue]:
    """Yield the route of an encoder where none is written, or where the engine has another."""
    engine = spec.trt_llm
    if not isinstance(engine, TrtLlmV1) or checkpoint is None:
        return
    route = engine.runtime.webserver_default_route
    ranks = spec.settings.rerank_template is not None
    effective = runtime.predict_route(route, checkpoint, ranks=ranks)
    yield EffectiveValue(
        field="trt_llm.runtime.webserver_default_route",
        asked=route,
        effective=effective,
        reason=(
            f"{runtime.title} has no `{route}`; the same is answered there, in its own words."
            if route
            else "Chosen by what the checkpoint does, as none is written."
        ),
    )
