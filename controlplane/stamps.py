"""Columns that say when a row was made or changed, by the one clock that all hosts share."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models

from controlplane import clock

# Django's own takes its types from the checker alone.
if TYPE_CHECKING:
    _DateTimeField = models.DateTimeField[datetime, datetime]
else:
    _DateTimeField = models.DateTimeField


class StampField(_DateTimeField):
    """Django's column with `auto_now` or `auto_now_add`, which would go by the host's own clock."""

    def pre_save(self, model_instance: models.Model, add: bool) -> datetime:
        if self.auto_now or (self.auto_now_add and add):
            setattr(model_instance, self.attname, clock.now())
        moment: datetime = getattr(model_instance, self.attname)
        return moment

    def deconstruct(self) -> Any:
        """Return it as migrations name it: as the column that it is."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.DateTimeField", arguments, options
