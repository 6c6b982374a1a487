from collections.abc import Mapping
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.runtimes.engine_log import explain_log, guess_log
from controlplane.domain.runtimes.native import failures as shared
from controlplane.domain.runtimes.trtllm import (
    failures_of_arguments,
    failures_of_models,
    failures_of_start,
)

PATTERNS = (
    *failures_of_start.PATTERNS,
    *failures_of_arguments.PATTERNS,
    *failures_of_models.PATTERNS,
)
ECHOES = failures_of_models.ECHOES
"""Words that follow an error which was printed before them."""
LOG_PATTERNS = (*PATTERNS, *ECHOES)


def explain(log_tail: str, spec: Mapping[str, Any] | None = None) -> Failure | None:
    """Return what the end of the log says went wrong, or None where it says nothing known.

    `spec` is the dump of the config, from which a fix is made. An echo of an error whose words are
    not known makes that one guessed at.
    """
    explanation = explain_log(PATTERNS, log_tail, spec) or shared.explain(log_tail)
    if explanation:
        return explanation
    echo = explain_log(ECHOES, log_tail, spec)
    return (guess_log(log_tail, spec) or echo) if echo else None
