"""What a build was made of, as its artifact is found again by."""

from collections.abc import Mapping
from typing import Any

from controlplane.artifacts import input_document
from workers.build_steps.versions import tool_versions


def build_inputs(spec: Mapping[str, Any], fetched: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input document of a spec; `fetched` is the result of that step."""
    return input_document(
        fetched["commit"],
        spec,
        tool_versions(),
        fetched.get("calibration"),
        fetched.get("evaluation"),
        fetched.get("adapters"),
        fetched.get("remote_code"),
    )
