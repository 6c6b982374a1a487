"""Refuses a checkpoint whose weights are not all of its model, or not all numbers."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures.registry import build
from controlplane.domain.json_text import read_json
from workers.build_steps.failures import StepFailure
from workers.build_steps.weights import failures
from workers.build_steps.weights.comparing import Comparison, ConfigUnfit, NotCompared, compare
from workers.build_steps.weights.stored import COMPARED_METHODS, Plain, as_plain, stored_tensors
from workers.engine.task import SENTENCE_MODULES, Task, read_task

_PARAMETERS = (".weight", ".bias")
_UNUSED = "pooler."
"""Of a body: no embedding is made of it, and many checkpoints leave it out."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Weights:
    folder: Path
    facts: CheckpointFacts
    not_finite: Mapping[str, Mapping[str, int]]
    """File -> tensor -> count, as seen when the files were fetched."""
    is_encoder: bool
    ranks: bool
    """Whether a language model is to rank by its answers."""
    cache_dir: Path | None

    @property
    def config(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = read_json((self.folder / "config.json").read_bytes())
        return content

    @property
    def architecture(self) -> str:
        return str((self.config.get("architectures") or ["none"])[0])


def check(weights: Weights) -> dict[str, Any]:
    """Return what was compared, or why nothing was. Raises StepFailure, by tensor name."""
    stored = stored_tensors(weights.folder)
    quantization = weights.facts.existing_quantization
    plain = as_plain(stored, is_quantized=quantization is not None)
    try:
        if quantization is not None and quantization.method not in COMPARED_METHODS:
            raise NotCompared(f"the names that `{quantization.method}` gives are not known here")
        shapes = {name: each.shape for name, each in plain.items()}
        comparison = compare(weights.folder, shapes, cache_dir=weights.cache_dir)
    except ConfigUnfit as error:
        raise StepFailure.of(
            build.CONFIG_UNFIT, architecture=weights.architecture, reason=str(error)
        ) from error
    except NotCompared as reason:
        log.warning("the tensors could not be compared with the model class: %s", reason)
        _refuse_not_finite(weights, {each for each in stored if each.endswith(_PARAMETERS)})
        return {"compared": False, "reason": str(reason), "tensors": len(stored)}
    _refuse_unfit(weights, plain, comparison)
    _refuse_not_finite(weights, _loaded(stored, plain, comparison))
    log.info("%d tensors are those of %s", len(stored), weights.architecture)
    return {"compared": True, "reason": None, "tensors": len(stored)}


def _refuse_unfit(weights: Weights, plain: Mapping[str, Plain], comparison: Comparison) -> None:
    if missing := [each for each in comparison.missing if not _is_idle(weights, each, comparison)]:
        raise failures.missing(weights.architecture, missing)
    is_packed = any(each.is_packed for each in plain.values())
    wrong = [
        each
        for each in comparison.wrong
        # What is packed has shapes of its own, and so has what is put together of it.
        if not (is_packed and (each[0] not in plain or plain[each[0]].is_packed))
    ]
    if wrong:
        raise failures.wrong_shape(weights.architecture, wrong)
    if comparison.beyond:
        raise failures.beyond(weights.architecture, comparison.beyond)


def _is_idle(weights: Weights, name: str, comparison: Comparison) -> bool:
    """Return whether nothing is made of a tensor: an embedding needs neither head nor pooler."""
    task = read_task(weights.folder, weights.config)
    if weights.is_encoder and not weights.ranks and task is Task.GENERATE:
        task = Task.EMBED
    if task is not Task.EMBED:
        return False
    if name not in comparison.body:
        return not _scores_words(weights)
    return f".{name}".find(f".{_UNUSED}") >= 0


def _scores_words(weights: Weights) -> bool:
    """Return whether embeddings are made of a language head: SPLADE."""
    modules = weights.folder / SENTENCE_MODULES
    if modules.exists():
        return b"SpladePooling" in modules.read_bytes()
    return weights.architecture.endswith("ForMaskedLM")


def _loaded(stored: Iterable[str], plain: Mapping[str, Plain], comparison: Comparison) -> set[str]:
    loaded = {each.stored_as for name, each in plain.items() if name not in comparison.unread}
    modules = {each.rpartition(".")[0] for each in loaded}
    return loaded | {each for each in stored if each.rpartition(".")[0] in modules}


def _refuse_not_finite(weights: Weights, loaded: set[str]) -> None:
    counts = {
        name if "/" not in path else f"{path}: {name}": count
        for path, tensors in sorted(weights.not_finite.items())
        for name, count in tensors.items()
        if "/" in path or name in loaded
    }
    if counts:
        raise failures.not_finite(counts)
