"""`config.yaml`: read and written as text, and as one frozen value in between.

Who edits texts asks `edit.py`, which loads a second library of YAML.
"""

from controlplane.domain.spec.checkpoint_repository import CheckpointRepository
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
    "parse_mapping",
    "parse_text",
    "write_yaml",
]
