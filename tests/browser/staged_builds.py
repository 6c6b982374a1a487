"""The builds of the stage: one that succeeded, with its pushes, one that failed, one at work."""

from datetime import timedelta
from typing import Any

from apps.accounts.models import User
from apps.builds.models import Build
from apps.configs.models import Revision
from apps.telemetry.logs import log_append
from controlplane import clock
from controlplane.domain.failures.registry import pushes
from controlplane.domain.lifecycle import BuildState, StepState
from tests import factories
from tests.browser.staged_checkpoints import SMOLLM

LOG = {
    "fetch": "resolving {repo}\ncommit 12fd25f77366fa6b3b4b768ec3050bf629380bac\n"
    "model.safetensors 269.1 MB\nfetched 9 files\n",
    "inspect": "LlamaForCausalLM, 134,515,008 parameters\n30 layers, 9 heads, 3 KV heads\n",
    "package": "writing manifest\nERROR no space left on device: 18 MB free, 269 MB needed\n",
}


def built_build(revision: Revision, owner: User) -> Build:
    """Return a build that succeeded, with its artifact and what its steps said."""
    now = clock.now()
    artifact = factories.make_artifact(
        team=owner.team,
        size_bytes=271_400_000,
        content_digest="sha256:" + "5f3a9c" * 10 + "beef",
        files=[
            {"path": "config.json", "sha256": "ab" * 32, "size_bytes": 704},
            {"path": "model.safetensors", "sha256": "cd" * 32, "size_bytes": 269_060_552},
            {"path": "tokenizer.json", "sha256": "ef" * 32, "size_bytes": 2_104_556},
        ],
        passport={
            "format": 1,
            "checkpoint": {
                "source": "HF",
                "repo": SMOLLM,
                "commit": "12fd25f77366fa6b3b4b768ec3050bf629380bac",
            },
            "tools": {"python": "3.11.7", "torch": "2.13.0", "transformers": "5.19.0"},
            "gate": "unmeasured",
        },
    )
    build = factories.make_finished_build(
        revision=revision, artifact=artifact, created_by=owner, runtime="native"
    )
    Build.objects.filter(id=build.id).update(
        started_at=now - timedelta(minutes=50), finished_at=now - timedelta(minutes=48, seconds=12)
    )
    for step, seconds in zip(build.steps.all(), (42.0, 3.4, 21.0, 40.0), strict=True):
        start = now - timedelta(minutes=50)
        step.started_at, step.finished_at = start, start + timedelta(seconds=seconds)
        step.save()
    build.steps.filter(name="smoke_test").update(
        result={
            "question": "Say hello in one short sentence.",
            "answer": "Hello! I am a small language model, and I would be glad to",
            "finish_reason": "length",
            "max_tokens": 16,
            "first_token_seconds": 0.061,
            "tokens_per_second": 38.4,
        }
    )
    for step, text in LOG.items():
        kept = [line for line in text.splitlines() if "ERROR" not in line]
        log_append(
            owner=f"build:{build.id}:{step}",
            attempt=1,
            sequence=0,
            text="\n".join(kept).format(repo=SMOLLM),
        )
    build.refresh_from_db()
    return build


def failed_build(revision: Revision, owner: User) -> Build:
    """Return a build whose disk was full when it packaged."""
    build = factories.make_build(revision=revision, created_by=owner, runtime="native")
    _advance(build, failing="package")
    Build.objects.filter(id=build.id).update(
        state=BuildState.FAILED,
        started_at=clock.now() - timedelta(minutes=9),
        finished_at=clock.now() - timedelta(minutes=8),
        failure={
            "code": "EHB-DISK-FULL",
            "blame": "machine",
            "sentence": "The disk of `workbench` has 18 MB free and the artifact needs 269 MB.",
            "field": None,
            "hint": "Free some space, or point `DATA_DIR` at a larger disk, and try again.",
            "fix": None,
            "detail": "OSError: [Errno 28] No space left on device",
        },
    )
    build.refresh_from_db()
    return build


def running_build(revision: Revision, owner: User) -> Build:
    """Return a build that is fetching, 64 % of the way."""
    build = factories.make_build(revision=revision, created_by=owner, runtime="native")
    Build.objects.filter(id=build.id).update(
        state=BuildState.FETCHING, started_at=clock.now() - timedelta(seconds=31)
    )
    build.steps.filter(name="fetch").update(
        state=StepState.RUNNING,
        started_at=clock.now() - timedelta(seconds=30),
        progress_done=171_000_000,
        progress_total=269_060_552,
        progress_unit="bytes",
    )
    log_append(owner=f"build:{build.id}:fetch", attempt=1, sequence=0, text=f"resolving {SMOLLM}\n")
    build.refresh_from_db()
    return build


def _advance(build: Build, *, failing: str) -> None:
    start = clock.now() - timedelta(minutes=9)
    for position, (name, text) in enumerate(LOG.items()):
        state = StepState.FAILED if name == failing else StepState.FINISHED
        build.steps.filter(name=name).update(
            state=state, started_at=start, finished_at=start + timedelta(seconds=20)
        )
        log_append(
            owner=f"build:{build.id}:{name}",
            attempt=1,
            sequence=position,
            text=text.format(repo=SMOLLM),
        )


def staged_pushes(built: Build, owner: User) -> None:
    """Make a push of a build's artifact in each state that its page shows otherwise."""
    assert built.artifact is not None
    where: dict[str, Any] = {
        "team": built.team, "artifact": built.artifact, "created_by": owner,
        "destination": "hf://acme/smollm2-fp8",
    }  # fmt: skip
    size = built.artifact.size_bytes
    factories.make_push(**where | {"destination": "s3://engines/smollm2-fp8"})
    refused = pushes.DENIED.failure(
        place="https://huggingface.co", secret="hf_write", reason="HTTP 403",
        destination=where["destination"],
    )  # fmt: skip
    factories.make_push(**where, state="failed", failure=refused.to_json())
    sent = {
        "url": "https://huggingface.co/acme/smollm2-fp8/tree/main", "commit": "8c1f" * 10,
        "sent_files": 2, "skipped_files": 1,
    }  # fmt: skip
    factories.make_push(**where, state="succeeded", done_bytes=size, result=sent, attempt=2)
    factories.make_push(**where, state="running", done_bytes=size // 3)
