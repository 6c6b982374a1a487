"""A build worker needs no more of the database than the role that is made for it."""

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.utils import ProgrammingError

from apps.builds.database_role import BUILD_WORKER_ROLE, TABLES
from apps.fleet.models import Worker
from controlplane import clock
from tests import factories
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.workers.tasks.building import MakeBuild, steps
from tests.workers.tasks.hands import send, wait_for_build

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine, pytest.mark.process]
POOL = "role"


@pytest.fixture
def role(transactional_db: None) -> Iterator[str]:
    call_command("build_worker_role", stdout=StringIO())
    yield BUILD_WORKER_ROLE
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {BUILD_WORKER_ROLE}; DROP ROLE {BUILD_WORKER_ROLE}")


@pytest.mark.long
def test_a_whole_build_is_carried_out_with_it(make_build: MakeBuild, role: str) -> None:
    later = clock.now() + timedelta(minutes=15)
    node = factories.make_node(name=settings.NODE_NAME, last_heartbeat_at=later)
    factories.make_device(node=node)
    with Gates() as gates, CeleryWorker(f"build.{POOL}", gates=gates, role=role) as worker:
        worker.wait_until_ready()
        build = send(make_build(pool=POOL))
        ended = wait_for_build(build, lambda each: each.finished_at or _is_refused(worker))
        assert (ended.state, ended.failure) == ("succeeded", None), worker.log.read_text()[-6000:]
        assert set(steps(build).values()) == {"finished"}
        assert "permission denied" not in worker.log.read_text()
        assert Worker.objects.filter(name__startswith=f"build.{POOL}").exists()


def _is_refused(worker: CeleryWorker) -> bool:
    return "permission denied" in worker.log.read_text()


def test_it_reads_nothing_of_secrets_keys_people_and_usage(role: str) -> None:
    refused = []
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        cursor.execute(f"SET ROLE {role}")
        try:
            for table in tables:
                try:
                    cursor.execute(f'SELECT * FROM "{table}" LIMIT 1')
                except ProgrammingError:
                    refused.append(table)
        finally:
            cursor.execute("RESET ROLE")
    assert set(tables) - set(refused) == set(TABLES)
    assert {
        "secrets_secret", "accounts_user", "accounts_apikey", "django_session",
        "deployments_deployment", "telemetry_usageminute",
    } <= {*refused}  # fmt: skip


def test_made_again_it_has_exactly_these_rights(role: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT SELECT ON secrets_secret TO {role}")
    call_command("build_worker_role", stdout=StringIO())
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege(%s, 'secrets_secret', 'SELECT')", [role])
        assert cursor.fetchone() == (False,)


def test_a_name_that_is_none_is_refused_in_its_own_words() -> None:
    with pytest.raises(CommandError, match="`Robert'; --` is no name of a role"):
        call_command("build_worker_role", name="Robert'; --")
