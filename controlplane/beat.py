"""The beat's own Celery application: it sends tasks by their names, and so loads none of them.

The workers' application would bring every model and rule into a process that needs a clock.
"""

from celery import Celery
from django.conf import settings

from controlplane.broker_patience import BoundedAmqp
from controlplane.celery import app as workers_app

_SHARED = (
    "task_ignore_result",
    "task_default_queue",
    "task_serializer",
    "broker_connection_retry_on_startup",
    "broker_connection_max_retries",
    "broker_transport_options",
    "beat_scheduler",
    "beat_schedule",
)

app = Celery("enginehouse-beat", broker=settings.BROKER_URL, amqp=BoundedAmqp, fixups=[])
app.conf.update({name: workers_app.conf[name] for name in _SHARED})
