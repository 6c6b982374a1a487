"""What of a config asks for another artifact, and what only for engines that start anew."""

from typing import Any

import pytest

from controlplane.domain.reuse import leaves
from controlplane.domain.spec import parse_mapping
from controlplane.domain.spec.serving_change import SERVING_FIELDS, deciding, whole

REPOSITORY = {"source": "HF", "repo": "org/name"}


def spec(*, build: Any = None, **changes: Any) -> dict[str, Any]:
    content = {
        "resources": {"accelerator": "H100"},
        "trt_llm": {"build": {"checkpoint_repository": REPOSITORY, **(build or {})}},
    }
    parsed = parse_mapping(content | changes).spec
    assert parsed is not None
    return parsed.model_dump(mode="json")


@pytest.mark.parametrize(
    "after",
    [
        spec(),
        spec(build={"max_batch_size": 32, "max_seq_len": 4096}),
        spec(enginehouse={"shared_prefixes": True}),
        spec(description="another", resources={"accelerator": "H100", "memory": "40Gi"}),
    ],
)
def test_what_an_engine_reads_when_it_starts_asks_for_no_artifact(after: dict[str, Any]) -> None:
    assert deciding(spec(), after) == ()


@pytest.mark.parametrize(
    ("after", "names"),
    [
        (spec(build={"quantization_type": "fp8"}), ["trt_llm.build.quantization_type"]),
        (spec(build={"tensor_parallel_count": 2}), ["trt_llm.build.tensor_parallel_count"]),
        (spec(resources={"accelerator": "L4"}), ["resources.accelerator"]),
        (spec(enginehouse={"pool": "big"}), ["enginehouse.pool"]),
        (spec(enginehouse={"gate": {"enabled": False}}), ["enginehouse.gate.enabled"]),
    ],
)
def test_what_may_make_another_artifact_is_named(after: dict[str, Any], names: list[str]) -> None:
    assert [each.path for each in deciding(spec(), after)] == names


def test_a_spec_that_an_older_release_stored_reads_as_the_same() -> None:
    stored = {"trt_llm": {"build": {"checkpoint_repository": REPOSITORY}}}
    assert deciding(stored, whole(stored)) == ()


def test_every_serving_field_is_one_of_the_schema() -> None:
    lookahead = {"speculative_decoding_mode": "LOOKAHEAD_DECODING"}
    build = {"speculator": lookahead, "max_batch_size": 8, "max_num_tokens": 512}
    schema = whole(spec(build=build, enginehouse={}))
    v2 = {"max_seq_len", "max_batch_size", "max_num_tokens", "enable_chunked_prefill"}
    served_by_v1 = SERVING_FIELDS - {f"trt_llm.runtime.{name}" for name in v2}
    known = [path for path, _ in leaves(schema)]
    unknown = {
        field
        for field in served_by_v1
        if not field.startswith("model_metadata.")
        and not any(path == field or path.startswith(f"{field}.") for path in known)
    }
    assert unknown == set()
