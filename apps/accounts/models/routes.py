"""The version of what gateways know, and what came with it."""

from django.db import models


class RoutesVersion(models.Model):
    """The single row whose `version` grows in every transaction that changes what gateways know.

    It lies down here because keys are the lowest thing that gateways hold a copy of.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.BigIntegerField(default=1)
    named_version = models.BigIntegerField(default=0, db_default=0)
    """Up to which `RoutesChange` tells all; below `version` after a release that knew of none."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="accounts_one_routes_row")
        ]

    def __str__(self) -> str:
        return str(self.version)


class RoutesChange(models.Model):
    """In which version something that gateways know came, changed or went last."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=16)
    """As in `controlplane.domain.wire.routes.KINDS`; `all` where everything may have changed."""
    name = models.CharField(max_length=64, blank=True)
    """Its id; of a key its hash."""
    version = models.BigIntegerField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "name"], name="accounts_routes_change_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} in {self.version}"
