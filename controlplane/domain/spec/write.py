"""A spec -> YAML that parses to the same spec."""

from typing import Any

import yaml

from controlplane.domain.spec.spec import Spec

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_yaml(spec: Spec) -> str:
    """Return the spec as YAML, in the schema's order, without what was never set."""
    content = spec.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return str(yaml.dump(content, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100))
