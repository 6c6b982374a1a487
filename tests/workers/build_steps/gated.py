"""A checkpoint and its quantized form, for tests of the gate."""

import json
import shutil
from copy import copy
from pathlib import Path
from typing import Any, Self

from controlplane.domain.spec.enginehouse_settings import Gate
from tests.tiny_families import make_family, stack_experts
from tests.trained_checkpoint import make_trained
from tests.workers.build_steps.quantizing import fetched, quantized_spec, run_here

TRAINED = "trained"
STACKED_MOE = "moe with stacked experts"


class Quantized:
    """A checkpoint and its quantized form, to be measured and to be damaged."""

    def __init__(
        self, family: str, kind: str, root: Path, *, original: Path | None = None, **build: Any
    ) -> None:
        self.original = original or make_original(family, root / "original")
        self.root, self.spec = root, quantized_spec(self.original, kind, **build)
        self.fetch = fetched(self.original, root / "fetch")
        self.calibrate = root / "calibrate"
        self.values = run_here("calibrate", self.spec, self.calibrate, fetch=self.fetch).values
        self.model = self.calibrate / "model"

    def copied(self, root: Path) -> Self:
        """Return the same in another folder, where a test may change it."""
        shutil.copytree(self.root, root)
        copied = copy(self)
        copied.root, copied.fetch, copied.calibrate = root, root / "fetch", root / "calibrate"
        copied.model = copied.calibrate / "model"
        return copied

    def gate(self, spec: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        folder = self.root / "gates" / str(len(list(self.root.glob("gates/*"))))
        result = run_here(
            "gate",
            spec or self.spec,
            folder,
            options,
            fetch=self.fetch,
            calibrate=self.calibrate,
        )
        return json.loads(json.dumps(result.values))  # type: ignore[no-any-return]

    def with_gate(self, **gate: Any) -> dict[str, Any]:
        settings = {**self.spec["enginehouse"], "gate": {**Gate().model_dump(), **gate}}
        return {**self.spec, "enginehouse": settings}


def make_original(family: str, folder: Path) -> Path:
    """Fill `folder` with a checkpoint of a family, a trained one, or one with stacked experts."""
    if family == TRAINED:
        return make_trained(folder)
    if family == STACKED_MOE:
        return stack_experts(make_family("moe", folder))
    return make_family(family, folder)
