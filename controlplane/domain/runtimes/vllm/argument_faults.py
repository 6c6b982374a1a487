from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from controlplane.domain.facts.vllm_arguments import KINDS
from controlplane.domain.runtimes.argument_fault import ArgumentFault, FaultKind
from controlplane.domain.runtimes.vllm.decided_elsewhere import decided_by, not_passed
from controlplane.domain.runtimes.vllm.inner_keys import unlisted
from controlplane.domain.runtimes.vllm.own_arguments import (
    flag_name,
    misplaced,
    missing_in,
    wrong_value,
)
from controlplane.domain.spec import Spec


def argument_faults(spec: Spec, version: str) -> Iterator[ArgumentFault]:
    """Yield at most one fault of each argument, by what this version takes."""
    for written, value in spec.settings.vllm_args.items():
        fault = _fault(spec, written, value, version)
        if fault is not None:
            yield fault


def _fault(spec: Spec, written: str, value: Any, version: str) -> ArgumentFault | None:
    name = flag_name(written)
    if reason := _elsewhere(spec, name):
        return ArgumentFault(kind=FaultKind.ELSEWHERE, written=written, reason=reason)
    if name not in KINDS:
        return _unknown(written, name, version)
    for kind, fault in (
        (FaultKind.UNKNOWN, missing_in(name, version)),
        (FaultKind.VALUE, wrong_value(name, value, version)),
        (FaultKind.MISPLACED, misplaced(name, value)),
        (FaultKind.UNLISTED, unlisted(name, value, version)),
    ):
        if fault:
            return ArgumentFault(kind=kind, written=written, reason=fault)
    return None


def _elsewhere(spec: Spec, name: str) -> str | None:
    if field := decided_by(spec, name):
        return f"`{name}` is what `{field}` says."
    reason = None if name in KINDS else not_passed(name)
    return f"`{name}`: {reason}" if reason else None


def _unknown(written: str, name: str, version: str) -> ArgumentFault:
    meant = next(iter(get_close_matches(name, KINDS, n=1, cutoff=0.7)), None)
    hint = f" Did you mean `{meant}`?" if meant else ""
    reason = f"vLLM {version} has no argument `{name}`.{hint}"
    return ArgumentFault(kind=FaultKind.UNKNOWN, written=written, reason=reason, meant=meant)
