"""Step `package`: the files and their passport, into the artifact store."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from controlplane.artifacts import ArtifactStore, FileEntry, content_digest, describe, input_digest
from workers.build_steps import outputs
from workers.build_steps.events import Events
from workers.build_steps.failures import changed_output
from workers.build_steps.fetch import MODEL_FOLDER
from workers.build_steps.job import Job
from workers.build_steps.step import StepResult
from workers.build_steps.versions import tool_versions

log = logging.getLogger(__name__)


def run(job: Job, events: Events) -> StepResult:
    """Return both digests, the list of files and the passport of what is now published."""
    fetched = outputs.read(job.input("fetch"))
    model = job.input("fetch") / MODEL_FOLDER
    files = _hashed_again(job, fetched, events)
    passport = _passport(job, fetched.values["commit"], files)
    store = ArtifactStore.open(job.options["artifact_url"])
    # Links: the fetched folder is ours, and nobody writes to it again.
    published = store.publish(model, passport, files=files, link=True)
    log.info(
        "published %s, %d files%s",
        published.content_digest,
        len(published.files),
        " (the store had them)" if published.reused else "",
    )
    (job.output / "passport.json").write_text(json.dumps(passport, indent=1))
    return StepResult(
        values={
            "content_digest": published.content_digest,
            "input_digest": passport["input_digest"],
            "size_bytes": published.size_bytes,
            "manifest": [asdict(each) for each in published.files],
            "passport": passport,
        }
    )


def _hashed_again(job: Job, fetched: outputs.Output, events: Events) -> tuple[FileEntry, ...]:
    """Return the files as they are on the disk now, refused when they are not what was fetched."""
    total = sum(each.size_bytes for each in fetched.files)
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count
        events.progress(done, total, "bytes")

    files = describe(job.input("fetch") / MODEL_FOLDER, add)
    wanted = {(each.path, each.sha256) for each in fetched.files}
    found = {(f"{MODEL_FOLDER}/{each.path}", each.sha256) for each in files}
    if changed := sorted({path for path, _ in wanted ^ found}):
        raise changed_output("fetch", changed)
    return files


def _passport(job: Job, commit: str, files: tuple[FileEntry, ...]) -> dict[str, Any]:
    inspected = outputs.read(job.input("inspect")).values
    repository: Mapping[str, Any] = job.spec["trt_llm"]["build"]["checkpoint_repository"]
    tools = tool_versions()
    return {
        "format": 1,
        "content_digest": content_digest(files),
        "input_digest": input_digest(commit, job.spec, tools),
        "checkpoint": {
            "source": repository["source"],
            "repo": repository["repo"],
            "revision": repository.get("revision"),
            "commit": commit,
        },
        "files": [asdict(each) for each in files],
        "spec": job.spec,
        "effective": inspected["examination"]["effective"],
        "calibration": None,
        "gate": "unmeasured",
        "tools": tools,
        "built": {
            "build_id": job.build_id,
            "attempt": job.attempt,
            "by": job.options.get("built_by"),
            "at": job.options.get("built_at"),
        },
    }
