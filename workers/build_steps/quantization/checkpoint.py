"""A checkpoint's folder as far as quantization must know it before any weight is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures.registry import quantization
from controlplane.domain.json_text import read_json
from controlplane.sources import folder_facts
from workers.build_steps import remote_code
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.quantization import failures

_CAUSAL = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    folder: Path
    architecture: str
    model_class: Any
    facts: CheckpointFacts
    is_encoder: bool
    """It gives vectors, scores or labels instead of text."""
    runs_remote_code: bool = False
    """Its class is Python of its own, which someone let run."""

    @property
    def kv_layers(self) -> int:
        """Layers that keep keys and values from one token to the next; some keep a state."""
        if self.is_encoder:
            return 0
        groups = [each for each in self.facts.groups if each.tokens_per_entry == 1]
        return sum(each.count for each in groups if each.mixer.attends)

    @property
    def has_kv_cache(self) -> bool:
        return self.kv_layers > 0


def open_checkpoint(folder: Path, *, served_as_encoder: bool, job: Job | None = None) -> Checkpoint:
    """Return the checkpoint; raises StepFailure for a class that cannot be loaded.

    `job` tells whether the checkpoint's own code may run; without one it may not.
    """
    config: Mapping[str, Any] = read_json((folder / "config.json").read_bytes())
    named = config.get("architectures") or [None]
    architecture: str | None = named[0]
    model_class = getattr(transformers, architecture, None) if architecture else None
    runs_remote_code = remote_code.brings_code(folder) and _may_run(folder, job, architecture)
    if architecture is not None and model_class is None and runs_remote_code:
        model_class = remote_code.model_class(folder)
    if architecture is None or model_class is None:
        raise failures.unknown_architecture(architecture, transformers.__version__)
    if config.get("is_encoder_decoder") and architecture.endswith(_CAUSAL):
        raise StepFailure.of(quantization.TWO_HALVES, architecture=architecture)
    return Checkpoint(
        folder=folder,
        architecture=architecture,
        model_class=model_class,
        facts=folder_facts(folder, commit="", name=architecture),
        is_encoder=served_as_encoder or not architecture.endswith(_CAUSAL),
        runs_remote_code=runs_remote_code,
    )


def _may_run(folder: Path, job: Job | None, architecture: str | None) -> bool:
    """Return whether to run the checkpoint's own code; raises StepFailure for what needs a grant.

    Where Transformers has the classes, its own are taken, whatever is granted.
    """
    if job is None or not remote_code.is_needed(folder):
        return False
    if remote_code.grant_of(job) is None:
        raise remote_code.refused(job, architecture)
    return True


def refuse_quantized(checkpoint: Checkpoint, quantization_type: str) -> None:
    """Raise StepFailure for weights that someone has quantized already, by whatever method."""
    existing = checkpoint.facts.existing_quantization
    if existing is None:
        return
    words = [existing.method, existing.algorithm]
    if existing.kv_cache:
        words.append(f"with an {existing.kv_cache} KV cache")
    raise StepFailure.of(
        quantization.ALREADY_QUANTIZED,
        method=" ".join(each for each in words if each),
        wanted=quantization_type,
    )
