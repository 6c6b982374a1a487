"""How a worker comes to its tasks: as Celery's own, without a look for garbage meanwhile."""

from typing import Any

from celery.loaders.app import AppLoader

from controlplane.collecting import without_collecting


class Loader(AppLoader):
    def import_default_modules(self) -> list[Any]:
        """Return the modules of tasks, which bring the models and rules of every app."""
        with without_collecting():
            return super().import_default_modules()
