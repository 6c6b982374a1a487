"""Our own block: what it says in place of the hosted product's settings."""

from typing import Any

import pytest

from controlplane.domain.spec import parse_mapping

_SIZE = "trt_llm.build.quantization_config.calib_size"


def _content(**more: Any) -> dict[str, Any]:
    repository = {"source": "LOCAL", "repo": "/checkpoints/example"}
    return {"trt_llm": {"build": {"checkpoint_repository": repository}}, **more}


@pytest.mark.parametrize(
    ("more", "samples", "path"),
    [
        ({}, 1024, _SIZE),
        ({"enginehouse": {"pool": "gpu-a"}}, 1024, _SIZE),
        ({"enginehouse": {"calibration": {"samples": 16}}}, 16, "enginehouse.calibration.samples"),
        ({"model_metadata": {"enginehouse": {"calibration": {"samples": 1}}}}, 1,
         "model_metadata.enginehouse.calibration.samples"),
    ],
)  # fmt: skip
def test_any_number_of_samples_takes_the_place_of_calib_size(
    more: dict[str, Any], samples: int, path: str
) -> None:
    spec = parse_mapping(_content(**more)).spec
    assert spec is not None
    assert (spec.calibration_samples, spec.calibration_samples_path) == (samples, path)


@pytest.mark.parametrize("samples", [0, -1, 1.5, True, "16", 16_385])
def test_a_number_of_samples_that_cannot_be_is_an_error_at_its_path(samples: Any) -> None:
    parsed = parse_mapping(_content(enginehouse={"calibration": {"samples": samples}}))
    assert parsed.spec is None
    assert [each.path for each in parsed.errors] == ["enginehouse.calibration.samples"]
