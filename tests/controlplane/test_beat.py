"""The beat sends what the workers' schedule says, without loading what it sends."""

import os
import subprocess
import sys

from controlplane import beat
from controlplane.celery import app as workers_app


def test_it_sends_the_workers_schedule_to_their_broker() -> None:
    assert beat.app.conf.beat_schedule == workers_app.conf.beat_schedule
    assert beat.app.conf.broker_url == workers_app.conf.broker_url
    assert beat.app.conf.task_serializer == "json"


def test_every_entry_names_a_task_that_workers_have() -> None:
    workers_app.loader.import_default_modules()
    named = {each["task"] for each in beat.app.conf.beat_schedule.values()}
    assert named <= workers_app.tasks.keys()


def test_its_process_loads_no_tasks_and_no_models() -> None:
    code = (
        "import sys; from controlplane.beat import app; app.loader.init_worker(); app.finalize();"
        "print([each for each in sys.modules if each.startswith(('workers.', 'apps.'))])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"
