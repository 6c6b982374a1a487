from collections.abc import Iterator, Sequence

from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse

from apps.accounts.models import Team
from apps.configs.models import Revision
from apps.secrets.names import normal_name
from apps.secrets.usage import Opened, Use
from controlplane.domain.secret_tests import ProbeKind
from controlplane.domain.spec import CheckpointRepository, Spec
from controlplane.domain.spec.choices import CheckpointSource

_KINDS = {
    CheckpointSource.HF: ProbeKind.HUB,
    CheckpointSource.S3: ProbeKind.S3,
    CheckpointSource.GCS: ProbeKind.GCS,
    CheckpointSource.AZURE: ProbeKind.AZURE,
}


def secret_uses(team: Team, names: Sequence[str]) -> Iterator[tuple[str, Use]]:
    using = _last_naming(team, names).only("secret_names", "config__name")
    for revision in using.order_by("config__name"):
        use = Use(
            kind="config",
            id=revision.config_id,
            name=revision.config.name,
            url=reverse("configs:editor", args=[revision.config_id]),
        )
        for name in sorted(set(revision.secret_names) & set(names)):
            yield name, use


def secret_opens(team: Team, name: str) -> Iterator[Opened]:
    for revision in _last_naming(team, [name]).order_by("config__name"):
        checkpoint = Spec.model_validate(revision.spec).checkpoint
        if checkpoint is not None and normal_name(checkpoint.runtime_secret_name) == name:
            yield from _opened(checkpoint, revision.config.name)


def _opened(checkpoint: CheckpointRepository, config: str) -> Iterator[Opened]:
    kind = _KINDS.get(checkpoint.source)
    if kind is None:
        return
    pinned = checkpoint.revision if kind is ProbeKind.HUB else None
    target = f"{checkpoint.repo}@{pinned}" if pinned else checkpoint.repo
    yield Opened(kind=kind, target=target, named_by=config)


def _last_naming(team: Team, names: Sequence[str]) -> QuerySet[Revision]:
    # Asked once per revision that lists a name; as NOT EXISTS it would join every revision.
    last = Revision.objects.filter(config=OuterRef("config")).order_by("-number")
    return Revision.objects.filter(
        config__team=team,
        secret_names__has_any_keys=list(names),
        number=Subquery(last.values("number")[:1]),
    ).select_related("config")
