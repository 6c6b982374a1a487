"""A column that holds the normal form of the address beside it."""

from typing import Any

from django.db import models

from apps.accounts.people.emails import normal_email


class NormalEmailField(models.TextField):  # type: ignore[type-arg]
    """The normal form of `email`, made whenever the row is written whole."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        value = normal_email(model_instance.email)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, value)
        return value

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        # Migrations need the column alone.
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs
