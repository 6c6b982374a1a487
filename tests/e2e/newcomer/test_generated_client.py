"""The whole job by a client that was generated from the specification, and by nothing else."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.newcomer.conftest import MODEL, Stack
from tests.generated_client import call, generate_client, part
from tests.waiting import wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
NAME = "generated-client"


@pytest.fixture
def client(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    url = stack.here.services.public_url
    generate_client(tmp_path, httpx.get(f"{url}/v1/spec", trust_env=False).content)
    monkeypatch.syspath_prepend(str(tmp_path))
    with part("client").AuthenticatedClient(base_url=url, token=stack.here.api_key) as made:
        yield made


def test_config_check_build_deploy_key_ask_and_usage(client: Any) -> None:
    models = part("models")
    config = config_of(models)
    wait_for(lambda: not checked(client, config).waiting, what="facts of the checkpoint")
    assert checked(client, config).blocks_build is False
    assert checked(client, config).plan.capacity.verdict is models.PlanVerdict.FITS

    target = models.ConfigCreateAsObject(config=config, name=NAME)
    stored = made(call("configs", "configs_post", client, body=target), 201)
    build = made(
        call("builds", "builds_post", client, body=models.BuildCreateBody(config_id=stored.id)), 201
    )
    ended = wait_until_ended(client, build.id)
    assert ended.state is models.BuildState.SUCCEEDED, ended.failure

    source = models.BuildSourceBody(kind=models.BuildSourceBodyKindEnum.BUILD, build_id=build.id)
    served_as = models.ModelCreateBody(name=NAME, source=source)
    served = made(call("models", "models_post", client, body=served_as), 201)
    model_id, deployment_id = served.model.id, served.deployment.id
    wait_until_in_production(client, model_id, deployment_id)

    for_applications = models.ApiKeyCreateBody(
        type_=models.TypeEnum.WORKSPACE_INVOKE, name=NAME, model_ids=[model_id]
    )
    key = made(call("api_keys", "api_keys_post", client, body=for_applications)).api_key
    model = made(call("models", "models_model_id_get", client, model_id))
    place = made(
        call("models", "models_model_id_environments_name_get", client, model_id, "production")
    )
    assert place.urls.request == model.urls.request
    answer = ask(model.urls, key)
    assert answer["choices"][0]["message"]["content"]

    wait_for(lambda: requests_of(client, model_id) > 0, what="usage of the request")
    assert used(client, model_id) == [(1, answer["usage"]["completion_tokens"])]


def config_of(models: Any) -> Any:
    return models.ConfigFile(
        model_name=NAME,
        trt_llm=models.ConfigTrtLlmV1(
            build=models.ConfigEngineBuild(
                base_model=models.ConfigBaseModelKind.DECODER,
                checkpoint_repository=models.ConfigCheckpointRepository(
                    source=models.ConfigCheckpointSource.HF, repo=MODEL
                ),
                max_seq_len=512,
                max_batch_size=4,
            )
        ),
        resources=models.ConfigResources(cpu="1", memory="2Gi"),
    )


def made(answer: Any, status: int = 200) -> Any:
    """Return what the client made of an answer of this status."""
    assert answer.status_code == status, answer.content
    return answer.parsed


def checked(client: Any, config: Any) -> Any:
    body = part("models").ConfigAsObject(config=config)
    return made(call("configs", "configs_check_post", client, body=body))


def wait_until_ended(client: Any, build_id: str) -> Any:
    state = part("models").BuildState
    final = {state.SUCCEEDED, state.FAILED, state.CANCELLED}
    seen: list[Any] = []

    def has_ended() -> bool:
        seen[:] = [made(call("builds", "builds_build_id_get", client, build_id))]
        return seen[0].state in final

    wait_for(has_ended, what="the end of the build", longest_pause_seconds=0.5)
    return seen[0]


def wait_until_in_production(client: Any, model_id: str, deployment_id: str) -> None:
    operation = "models_model_id_deployments_deployment_id_get"

    def is_there() -> bool:
        outcome = made(call("models", operation, client, model_id, deployment_id))
        return bool(outcome.is_production)

    wait_for(is_there, what="the deployment in production", longest_pause_seconds=0.5)


def ask(urls: Any, key: str) -> dict[str, Any]:
    """Return the answer to one chat, asked by the client at the address that it was told."""
    asker = part("client").AuthenticatedClient(base_url=urls.openai, token=key)
    with asker:
        answer = asker.get_httpx_client().post(
            urls.request,
            json={"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4},
        )
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def requests_of(client: Any, model_id: str) -> int:
    # A model has a line before the first request: its GPU costs money without one.
    return sum(requests for requests, _ in used(client, model_id))


def used(client: Any, model_id: str) -> list[tuple[int, int]]:
    """Return requests and tokens of answers of that model."""
    group = part("models").UsageGetGroupBy.MODEL
    usage = made(call("usage", "usage_get", client, group_by=group)).usage
    return [(each.requests, each.completion_tokens) for each in usage if each.id == model_id]
