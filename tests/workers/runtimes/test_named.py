"""What a host is set up to start, as its settings name it."""

import pytest

from workers.runtimes.named import named_runtimes


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, {"native"}),
        ({"VLLM_PYTHON": "/opt/vllm/bin/python"}, {"native", "vllm"}),
        ({"VLLM_IMAGE": "vllm/vllm-openai", "TRTLLM_IMAGE": ""}, {"native", "vllm"}),
        ({"TRTLLM_IMAGE": "tensorrt-llm/release"}, {"native", "trtllm"}),
        ({"TRTLLM_PYTHON": "python3", "VLLM_IMAGE": "v"}, {"native", "trtllm", "vllm"}),
    ],
)
def test_a_python_or_an_image_names_a_runtime(
    environment: dict[str, str], expected: set[str]
) -> None:
    assert named_runtimes(environment) == expected
