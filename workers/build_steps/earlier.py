"""What earlier steps of a build found, as records."""

from controlplane.domain.step_results import FetchResult
from workers.build_steps import outputs
from workers.build_steps.job import Job


def fetched(job: Job) -> FetchResult:
    return FetchResult.model_validate(outputs.read(job.input("fetch")).values)
