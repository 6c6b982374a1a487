"""`config.yaml`: read, written and edited as text, and as one frozen value in between."""

from controlplane.domain.spec.checkpoint_repository import CheckpointRepository
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml
from controlplane.domain.spec.errors import Problem, SpecError
from controlplane.domain.spec.parse import ParseResult, parse_mapping, parse_text
from controlplane.domain.spec.resources import Accelerator
from controlplane.domain.spec.spec import Spec
from controlplane.domain.spec.write import write_yaml

__all__ = [
    "Accelerator",
    "CheckpointRepository",
    "ParseResult",
    "Problem",
    "Spec",
    "SpecError",
    "UneditableTextError",
    "edit_yaml",
    "parse_mapping",
    "parse_text",
    "write_yaml",
]
