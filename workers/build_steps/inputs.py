"""What a build was made of, as its artifact is found again by."""

from collections.abc import Mapping
from typing import Any

from controlplane.artifacts import input_document
from controlplane.domain.step_results import FetchResult
from workers.build_steps.versions import tool_versions


def build_inputs(spec: Mapping[str, Any], fetched: FetchResult) -> dict[str, Any]:
    """Return the input document of a spec; `fetched` is what that step brought."""
    inputs = fetched.model_dump(mode="json")
    return input_document(
        fetched.commit,
        spec,
        tool_versions(),
        inputs["calibration"],
        inputs["evaluation"],
        inputs["adapters"],
        inputs["remote_code"],
        inputs["tasks"],
    )
