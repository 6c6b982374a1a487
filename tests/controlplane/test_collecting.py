"""Garbage is not looked for while a process imports, and is again afterwards."""

import gc
from collections.abc import Iterator

import pytest
from celery import signals

from controlplane.celery import app
from controlplane.collecting import without_collecting


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_it_is_looked_for_again_also_where_the_block_has_failed() -> None:
    with pytest.raises(ImportError), without_collecting():
        raise ImportError
    assert gc.isenabled()


def test_a_worker_imports_its_tasks_without_a_look_for_garbage() -> None:
    seen: list[bool] = []
    note = lambda **_: seen.append(gc.isenabled())  # noqa: E731
    signals.import_modules.connect(note, weak=False)
    try:
        app.loader.import_default_modules()
    finally:
        signals.import_modules.disconnect(note)
    assert seen == [False]
    assert gc.isenabled()
    assert "builds.sweep" in app.tasks
