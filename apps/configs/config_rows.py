"""What became of configs: their last revision, its last build, and where they serve.

Builds and deployments lie above this app, so their tables are reached by the names of relations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef

from apps.configs.models import Config, Revision
from controlplane.domain.dotted import value_at
from controlplane.domain.facts.quantization import NO_QUANT


@dataclass(kw_only=True)
class ConfigRow:
    config: Config
    revision: Revision | None = None
    build_number: int | None = None
    build_state: str = ""
    serves: list[str] = field(default_factory=list)
    """`model environment` of each place that serves a build of it."""

    @property
    def checkpoint(self) -> str:
        return str(self._summary_value("trt_llm.build.checkpoint_repository.repo") or "–")

    @property
    def hardware(self) -> str:
        kind, _, count = str(self._summary_value("resources.accelerator") or "CPU").partition(":")
        return f"{kind}\u00a0×\u00a0{count}" if count else kind

    @property
    def quantization(self) -> str:
        return str(self._summary_value("trt_llm.build.quantization_type") or NO_QUANT)

    @property
    def errors(self) -> int:
        return self._count("error")

    @property
    def warnings(self) -> int:
        return self._count("warning")

    def _summary_value(self, path: str) -> Any:
        return value_at(self.revision.spec, path) if self.revision else None

    def _count(self, severity: str) -> int:
        findings: Sequence[Mapping[str, Any]] = self.revision.findings if self.revision else []
        return sum(finding["severity"] == severity for finding in findings)


def config_rows(configs: Sequence[Config]) -> Sequence[ConfigRow]:
    """Return one line for each config, in three queries for any number of them."""
    row_of = {config.id: ConfigRow(config=config) for config in configs}
    revisions = Revision.objects.filter(config__in=row_of)
    newer = Revision.objects.filter(config=OuterRef("config"), number__gt=OuterRef("number"))
    for revision in revisions.filter(~Exists(newer)):
        row_of[revision.config_id].revision = revision
    built = revisions.filter(builds__isnull=False).order_by("builds__number")
    for config_id, number, state in built.values_list(
        "config_id", "builds__number", "builds__state"
    ):
        row_of[config_id].build_number, row_of[config_id].build_state = number, state
    served = revisions.filter(builds__deployments__current_of__isnull=False).values_list(
        "config_id",
        "builds__deployments__model__name",
        "builds__deployments__current_of__name",
    )
    for config_id, model, place in served.distinct():
        row_of[config_id].serves.append(f"{model} {place}")
    return list(row_of.values())
