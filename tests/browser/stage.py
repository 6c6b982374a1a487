"""A lived-in team for browser tests and screenshots: every page has something to show."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.utils import timezone

from apps.accounts.models import Team, TeamRole, User
from apps.accounts.services import invitation_create, sign_in_link_create
from apps.builds.models import Build
from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.models import CheckpointRecord, Config, FactsState, Revision
from apps.configs.services import config_create
from apps.deployments.models import Deployment, Replica
from apps.fleet.services import worker_arrived
from apps.secrets.services import secret_set
from apps.telemetry import buckets
from apps.telemetry.logs import log_append
from apps.telemetry.models import EngineSample, UsageMinute
from controlplane.domain.facts import checkpoints
from controlplane.domain.lifecycle import BuildState, DeploymentState, ReplicaState, StepState
from tests import factories

GIB = 1024**3
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
SMOLLM = "HuggingFaceTB/SmolLM2-135M-Instruct"
BLOCKED_TEXT = f"""\
# Taken from the cluster in Frankfurt; it has A100 cards.
model_name: llama-3.3-70b
resources:
  accelerator: A100:2
  memory: 32Gi
secrets:
  hf_access_token: null
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: {LLAMA_70B}
    quantization_type: fp8_kv # half the memory
    max_seq_len: 131072
    tensor_parallel_count: 2
  runtime:
    served_model_name: llama
"""
SMALL_TEXT = f"""\
model_name: smollm2
resources:
  cpu: "2"
  memory: 4Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: {SMOLLM}
    max_seq_len: 2048
    max_batch_size: 8
"""
LOG = {
    "fetch": "resolving {repo}\ncommit 12fd25f77366fa6b3b4b768ec3050bf629380bac\n"
    "model.safetensors 269.1 MB\nfetched 9 files\n",
    "inspect": "LlamaForCausalLM, 134,515,008 parameters\n30 layers, 9 heads, 3 KV heads\n",
    "package": "writing manifest\nERROR no space left on device: 18 MB free, 269 MB needed\n",
}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Who and what there is."""

    team: Team
    owner: User
    admin: User
    """Of the organisation."""
    blocked: Config
    small: Config
    waiting: Config
    running: Build
    failed: Build
    built: Build
    deployment: Deployment
    preview: CalibrationPreview
    invitation_path: str
    """Of a link to join with."""
    sign_in_path: str
    """Of a link that lets the owner in."""


def make_stage() -> Stage:
    """Return a team with configs, builds in every state, one deployment, traffic and a node."""
    cast = factories.make_cast()
    team, owner = cast.team, cast.owner
    know_checkpoint(team, LLAMA_70B, LLAMA_CONFIG, weight_bytes=141_107_412_992, secret="")
    know_checkpoint(team, LLAMA_70B, LLAMA_CONFIG, weight_bytes=141_107_412_992)
    know_checkpoint(team, SMOLLM, SMOLLM_CONFIG, weight_bytes=269_030_016, secret="")
    know_checkpoint(team, SMOLLM, SMOLLM_CONFIG, weight_bytes=269_030_016)
    secret_set(team=team, name="hf_access_token", value="not-a-token", user=owner)
    factories.make_api_key(team=team, name="playground")
    factories.make_calibration_version(team=team, created_by=owner)
    node = factories.make_node(name="workbench", agent_version="0.1.0", host_memory_bytes=16 * GIB)
    card = factories.make_card(node=node, memory_bytes=8 * GIB, used_bytes=3 * GIB, name="EPYC")
    worker_arrived(name="control@workbench", version="0.1.0")
    worker_arrived(name="build.default@workbench", version="0.1.0")
    blocked = config_create(team=team, name="llama-3.3-70b", text=BLOCKED_TEXT, user=owner)
    small = config_create(team=team, name="smollm2", text=SMALL_TEXT, user=owner)
    waiting = config_create(
        team=team,
        name="gemma-3-27b",
        text=SMALL_TEXT.replace(SMOLLM, "google/gemma-3-27b-it").replace("smollm2", "gemma-3-27b"),
        user=owner,
    )
    revision = small.revisions.get()
    built = _built(revision, owner)
    deployment = _serving(built, node, card, owner)
    return Stage(
        team=team,
        owner=owner,
        admin=cast.organisation_admin,
        blocked=blocked,
        small=small,
        waiting=waiting,
        built=built,
        failed=_failed(revision, owner),
        running=_running(revision, owner),
        deployment=deployment,
        preview=CalibrationPreview.objects.create(
            team=team, revision=revision, dataset="enginehouse/general", pool="default"
        ),
        invitation_path=urlsplit(
            invitation_create(
                team=team, email="colleague@example.com", role=TeamRole.MEMBER, user=owner
            ).url
        ).path,
        sign_in_path=f"/sign-in/{sign_in_link_create(user=owner)}/",
    )


def know_checkpoint(
    team: Team,
    repo: str,
    config: dict[str, Any],
    *,
    weight_bytes: int,
    secret: str = "hf_access_token",
) -> None:
    """Store the facts of a checkpoint, as if they had been read a moment ago."""
    facts = checkpoints.read(
        config,
        files=["config.json", "model.safetensors", "tokenizer.json"],
        weight_bytes=weight_bytes,
        parameters=weight_bytes // 2,
        has_chat_template=True,
        commit="12fd25f77366fa6b3b4b768ec3050bf629380bac",
    )
    now = timezone.now()
    CheckpointRecord.objects.create(
        team=team,
        source="HF",
        repo=repo,
        secret_name=secret,
        state=FactsState.READY,
        facts=facts.model_dump(mode="json"),
        commit=facts.commit or "",
        requested_at=now,
        fetched_at=now,
    )


def _built(revision: Revision, owner: User) -> Build:
    now = timezone.now()
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
    build = factories.make_finished_build(revision=revision, artifact=artifact, created_by=owner)
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


def _failed(revision: Revision, owner: User) -> Build:
    build = factories.make_build(revision=revision, created_by=owner)
    _advance(build, failing="package")
    Build.objects.filter(id=build.id).update(
        state=BuildState.FAILED,
        started_at=timezone.now() - timedelta(minutes=9),
        finished_at=timezone.now() - timedelta(minutes=8),
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


def _running(revision: Revision, owner: User) -> Build:
    build = factories.make_build(revision=revision, created_by=owner)
    Build.objects.filter(id=build.id).update(
        state=BuildState.FETCHING, started_at=timezone.now() - timedelta(seconds=31)
    )
    build.steps.filter(name="fetch").update(
        state=StepState.RUNNING,
        started_at=timezone.now() - timedelta(seconds=30),
        progress_done=171_000_000,
        progress_total=269_060_552,
        progress_unit="bytes",
    )
    log_append(owner=f"build:{build.id}:fetch", attempt=1, sequence=0, text=f"resolving {SMOLLM}\n")
    build.refresh_from_db()
    return build


def _advance(build: Build, *, failing: str) -> None:
    start = timezone.now() - timedelta(minutes=9)
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


def _serving(build: Build, node: Any, card: Any, owner: User) -> Deployment:
    model = factories.make_model(team=owner.team, name="smollm2")
    facts = CheckpointRecord.objects.filter(repo=SMOLLM).values_list("facts", flat=True)[0]
    deployment = factories.make_deployment(
        model=model, build=build, name="deployment-1", environment="production", checkpoint=facts
    )
    factories.make_environment(model=model, name="staging")
    replica = factories.make_replica(
        deployment=deployment,
        node=node,
        memory_bytes=2 * GIB,
        ready_at=timezone.now() - timedelta(minutes=45),
        report={"weights_bytes": 538_060_032, "kv_cache_bytes": 755_000_000, "kv_tokens": 16_384},
        metrics={"requests_running": 2, "requests_waiting": 0, "kv_cache_used_ratio": 0.18},
    )
    factories.make_lease(card=card, holder=f"replica:{replica.id}", memory_bytes=2 * GIB)
    _traffic(deployment)
    _samples(replica)
    factories.make_deployment(
        model=model,
        build=build,
        name="deployment-2",
        state=DeploymentState.DEPLOY_FAILED,
        failure={
            "code": "EHD-NO-ROOM",
            "blame": "machine",
            "sentence": "`workbench` has 5.2 GiB free and one replica needs 6.0 GiB.",
            "hint": "Deactivate another deployment, or add a machine.",
        },
    )
    factories.make_replica(
        deployment=deployment,
        node=node,
        state=ReplicaState.FAILED,
        ready_at=None,
        finished_at=timezone.now() - timedelta(minutes=46),
        failure={
            "code": "EHD-GONE",
            "blame": "machine",
            "sentence": "Node `workbench` restarted.",
        },
    )
    return deployment


def _traffic(deployment: Deployment) -> None:
    now = timezone.now().replace(second=0, microsecond=0)
    rows = []
    for age in range(40, 0, -1):
        requests = 30 + (age * 7) % 17
        counts = buckets.empty()
        counts[3], counts[4] = requests - 4, 4
        rows.append(
            UsageMinute(
                minute=now - timedelta(minutes=age),
                model_id=deployment.model_id,
                deployment_id=deployment.id,
                environment="production",
                key_id="key",
                status_class=2,
                requests=requests,
                completion_tokens=requests * 46,
                first_byte_buckets=counts,
            )
        )
    rows.append(
        UsageMinute(
            minute=now - timedelta(minutes=12),
            model_id=deployment.model_id,
            deployment_id=deployment.id,
            environment="production",
            key_id="key",
            status_class=5,
            requests=3,
        )
    )
    UsageMinute.objects.bulk_create(rows)


def _samples(replica: Replica) -> None:
    """Have the engine tell of itself once a minute."""
    now = timezone.now().replace(second=0, microsecond=0)
    EngineSample.objects.bulk_create(
        EngineSample(
            replica_id=replica.id,
            deployment_id=replica.deployment_id,
            sampled_at=now - timedelta(minutes=age),
            values={
                "kv_cache_used_ratio": 0.1 + (age * 5) % 13 / 100,
                "draft_tokens_total": (40 - age) * 900,
                "accepted_draft_tokens_total": (40 - age) * 540 + (age * 11) % 90,
            },
        )
        for age in range(40, 0, -1)
    )


LLAMA_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
SMOLLM_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}
