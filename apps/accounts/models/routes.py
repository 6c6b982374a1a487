"""The version of what gateways know."""

from django.db import models


class RoutesVersion(models.Model):
    """The single row whose `version` grows in every transaction that changes what gateways know.

    It lies down here because keys are the lowest thing that gateways hold a copy of.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="accounts_one_routes_row")
        ]

    def __str__(self) -> str:
        return str(self.version)
