from collections.abc import Mapping
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.runtimes.engine_log import explain_log, guess_log
from controlplane.domain.runtimes.native import failures as shared
from controlplane.domain.runtimes.vllm import (
    failures_of_adapters,
    failures_of_commands,
    failures_of_formats,
    failures_of_hosts,
    failures_of_models,
    failures_of_quantization,
    failures_of_settings,
    failures_of_shapes,
    failures_of_versions,
)

PATTERNS = (
    *failures_of_settings.PATTERNS,
    *failures_of_models.PATTERNS,
    *failures_of_shapes.PATTERNS,
    *failures_of_commands.PATTERNS,
    *failures_of_quantization.PATTERNS,
    *failures_of_adapters.PATTERNS,
    *failures_of_formats.PATTERNS,
    *failures_of_hosts.PATTERNS,
    *failures_of_versions.PATTERNS,
)
ENDED = failures_of_hosts.ENDED
"""What is said of a process that said nothing: where it did, its own words count."""
ECHOES = failures_of_settings.ECHOES
"""Words that follow an error which was printed before them."""
LOG_PATTERNS = (*PATTERNS, *ENDED, *ECHOES)


def explain(log_tail: str, spec: Mapping[str, Any] | None = None) -> Failure | None:
    """Return what the end of vLLM's log says went wrong, or None where it says nothing known.

    `spec` is the dump of the config, from which a fix is made. What any engine may print of its
    host comes after vLLM's own words. An echo of an error whose words are not known makes that one
    guessed at.
    """
    explanation = explain_log(PATTERNS, log_tail, spec) or shared.explain(log_tail)
    explanation = explanation or explain_log(ENDED, log_tail, spec)
    if explanation:
        return explanation
    echo = explain_log(ECHOES, log_tail, spec)
    return (guess_log(log_tail, spec) or echo) if echo else None
