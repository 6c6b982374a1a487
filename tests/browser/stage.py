"""A lived-in team for browser tests and screenshots: every page has something to show."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from apps.accounts.models import Team, TeamRole, User
from apps.accounts.people.invitations import invitation_create
from apps.accounts.signing_in.links import sign_in_link_create
from apps.async_requests.models import AsyncRequest
from apps.benchmarks.models import Benchmark
from apps.builds.models import Build
from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.models import Config
from apps.configs.services.configs import config_create
from apps.deployments.models import Deployment
from apps.fleet.services.workers import worker_arrived
from apps.secrets.services.values import secret_set
from tests import factories
from tests.browser.staged_alerts import make_alerts
from tests.browser.staged_builds import (
    built_build,
    failed_build,
    running_build,
    staged_pushes,
)
from tests.browser.staged_checkpoints import (
    LLAMA_70B,
    LLAMA_CONFIG,
    SMOLLM,
    SMOLLM_CONFIG,
    know_checkpoint,
)
from tests.browser.staged_measures import levels, tuned
from tests.browser.staged_serving import serving_deployment
from tests.factories_async import make_shown_async_request
from tests.factories_benchmarks import make_finished_benchmark

_GIB = 1024**3
BLOCKED_TEXT = f"""\
# Taken from the cluster in Frankfurt; it has A100 GPUs.
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
    benchmark: Benchmark
    async_request: AsyncRequest
    preview: CalibrationPreview
    tuning: LookaheadTuning
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
    node = factories.make_node(
        name="workbench", agent_version="0.1.0", host_memory_bytes=16 * _GIB, runtimes=["native"]
    )
    device = factories.make_device(
        node=node, memory_bytes=8 * _GIB, used_bytes=3 * _GIB, name="EPYC"
    )
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
    built = built_build(revision, owner)
    deployment = serving_deployment(built, node, device, owner)
    staged_pushes(built, owner)
    failed = failed_build(revision, owner)
    refused = Deployment.objects.get(model=deployment.model, name="deployment-2")
    make_alerts(team, failed=failed, deployment=refused)
    return Stage(
        team=team,
        owner=owner,
        admin=cast.organisation_admin,
        blocked=blocked,
        small=small,
        waiting=waiting,
        built=built,
        failed=failed,
        running=running_build(revision, owner),
        deployment=deployment,
        async_request=make_shown_async_request(deployment=deployment),
        benchmark=make_finished_benchmark(
            deployments=[deployment], created_by=owner, stages=levels()
        ),
        preview=CalibrationPreview.objects.create(
            team=team, revision=revision, dataset="enginehouse/general", pool="default"
        ),
        tuning=LookaheadTuning.objects.create(
            team=team,
            revision=revision,
            dataset="team/edits",
            requests=1,
            pool="default",
            state="finished",
            result=tuned(),
            created_by=owner,
        ),
        invitation_path=urlsplit(
            invitation_create(
                team=team, email="colleague@example.com", role=TeamRole.MEMBER, user=owner
            ).url
        ).path,
        sign_in_path=f"/sign-in/{sign_in_link_create(user=owner)}/",
    )
