"""Which rules mark which field, by what each says of its own bad example."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from controlplane.domain.rules.catalogue import ALL_RULES
from controlplane.domain.rules.context import context_of
from controlplane.domain.rules.rule import Rule
from controlplane.domain.spec import parse_mapping
from controlplane.domain.spec.contradictions import V2_HOMES

_V1, _V2 = "trt_llm.build", "trt_llm.runtime"
_OURS, _INSIDE = "enginehouse", "model_metadata.enginehouse"
_MOVED: Mapping[str, str] = {f"{_V1}.{old}": f"{_V2}.{new}" for old, new in V2_HOMES.items()}
"""A limit's rule marks it where the stack has it."""
_MAPPINGS = (f"{_V2}.patch_kwargs", f"{_V1}.lora_adapters", "environment_variables", "secrets")


@cache
def rules_by_field() -> Mapping[str, Sequence[str]]:
    codes_by_field: dict[str, list[str]] = {}
    for rule in ALL_RULES:
        for path in dict.fromkeys(_paths(rule)):
            codes_by_field.setdefault(path, []).append(rule.code)
    return codes_by_field


def _paths(rule: Rule) -> Iterator[str]:
    spec = parse_mapping(rule.bad.content).spec
    if spec is None:
        raise ValueError(f"the bad example of {rule.code} does not parse")
    for path in (*rule.fields(context_of(spec, rule.bad.known)), *rule.may_mark):
        known = _known(path.replace(_INSIDE, _OURS))
        yield known
        if known in _MOVED:
            yield _MOVED[known]


def _known(path: str) -> str:
    """Return the path, or of a name within a mapping the mapping's own."""
    return next((each for each in _MAPPINGS if path.startswith(f"{each}.")), path)
