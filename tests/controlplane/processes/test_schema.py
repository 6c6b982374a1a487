"""A schema from which no migration leads here is refused before anything is done to it."""

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder

from controlplane.processes.schema import SchemaTooOld, wait_for_schema

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def of_before() -> None:
    MigrationRecorder.Migration.objects.create(app="accounts", name="0001_initial")


@pytest.mark.usefixtures("of_before")
def test_a_database_of_before_the_first_release_is_refused_with_what_to_do() -> None:
    with pytest.raises(CommandError, match=r"made before Enginehouse 0\.1\.0.*empty database"):
        call_command("prepare")


@pytest.mark.usefixtures("of_before")
def test_no_process_waits_for_it() -> None:
    with pytest.raises(SchemaTooOld):
        wait_for_schema(timeout_seconds=3600)
