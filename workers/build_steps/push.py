"""Push: an artifact's files to a repository of the hub or a folder of a bucket."""

from controlplane.domain.failures.registry import pushes
from controlplane.domain.push_destinations import HubDestination, read_destination
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.options import PushOrder
from workers.build_steps.pushing.parcel import Parcel
from workers.build_steps.step import StepResult


def run(job: Job, events: Events) -> StepResult:
    """Send what is not there yet, and tell where it is."""
    order = job.options.push
    target = read_destination(order.destination) if order is not None else None
    if order is None or target is None:
        raise ValueError("a job without a destination")
    parcel = _parcel(job, order, events)
    parcel.tell(0)
    # Each client is no small import, and a push needs one of them.
    if isinstance(target, HubDestination):
        from workers.build_steps.pushing.hub import push_to_hub

        pushed = push_to_hub(parcel, target, job.output)
    else:
        from workers.build_steps.pushing.bucket import push_to_bucket

        pushed = push_to_bucket(parcel, target)
    files = {"sent_files": parcel.sent_files, "skipped_files": parcel.skipped_files}
    return StepResult(values={**pushed, **files})


def _parcel(job: Job, order: PushOrder, events: Events) -> Parcel:
    secret = job.secrets.get(order.secret_name)
    if secret is None:
        raise StepFailure.of(
            pushes.NO_SECRET, secret=order.secret_name, destination=order.destination
        )
    store = job.store()
    return Parcel(
        order=order,
        manifest=store.manifest(order.content_digest),
        store=store,
        secret=secret,
        options=job.options.sources(),
        events=events,
    )
