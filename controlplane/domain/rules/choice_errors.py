"""What the checks would block of several ways to change a config, before any is offered."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.rules.catalogue import ALL_RULES
from controlplane.domain.rules.context import context_of
from controlplane.domain.rules.diagnose import diagnose
from controlplane.domain.rules.rule import Severity
from controlplane.domain.rules.trials import KnownFor
from controlplane.domain.spec import parse_mapping
from controlplane.domain.spec.patch import patched

Errors = Mapping[str, str]
"""Code of a rule -> what it says."""
_BLOCKING = tuple(rule for rule in ALL_RULES if rule.severity is Severity.ERROR)


def choice_errors(
    data: Mapping[str, Any], patches: Sequence[Mapping[str, Any]], known_for: KnownFor
) -> list[Errors]:
    """Return for each patch of the config's data the errors that come of it.

    What blocks the config as it is, and with every patch too, speaks against none of them.
    """
    errors = [_errors(patched(data, patch), known_for) for patch in patches]
    everywhere = set(_errors(data, known_for)).intersection(*errors)
    return [
        {code: sentence for code, sentence in each.items() if code not in everywhere}
        for each in errors
    ]


def _errors(data: Mapping[str, Any], known_for: KnownFor) -> Errors:
    parsed = parse_mapping(data)
    if parsed.spec is None:
        return {"": " ".join(error.message for error in parsed.errors)}
    context = context_of(parsed.spec, known_for(parsed.spec))
    return {each.code: each.message for each in diagnose(context, _BLOCKING).findings}
