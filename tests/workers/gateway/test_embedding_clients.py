"""Unmodified clients ask an embedder at an environment's URL: batches, hedges, cancels, async."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from baseten_performance_client import (
    PerformanceClient,
    RequestProcessingPreference,
)
from huggingface_hub import InferenceClient
from openai import AsyncOpenAI, OpenAI
from transformers import AutoTokenizer

from tests.gates import Gates
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from tests.workers.gateway.stage.routes import KEY, NATIVE
from tests.workers.runtimes.native.server import STEP, EngineServer

pytestmark = [pytest.mark.engine, pytest.mark.process]
TEXTS = [f"text {number} of many" for number in range(40)]


@pytest.fixture(scope="module")
def gates() -> Iterator[Gates]:
    with Gates() as outcome:
        yield outcome


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory, gates: Gates) -> Iterator[EngineServer]:
    base = tmp_path_factory.mktemp("embedder")
    folder = make_encoder("Bert", base / "model")
    prompts = {"query": "query: ", "document": ""}
    write_sentence_files(folder, {"pooling_mode": "mean"}, "Normalize", prompts=prompts)
    log = base / "engine.log"
    with EngineServer(folder, log=log, environment=gates.environment) as server:
        yield server


@pytest.fixture
def sync(house, embedder: EngineServer) -> str:
    """The base of the deployment's own routes at its environment."""
    house.publish(embedder, predict_route="/v1/embeddings", route_table=NATIVE)
    return f"{house.gateway().url}/m/modelaaa/environments/production/sync"


@pytest.fixture
def openai(sync: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{sync}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def of_openai(client: OpenAI, texts: list[str]) -> torch.Tensor:
    outcome = client.embeddings.create(model="any", input=texts)
    return torch.tensor([each.embedding for each in outcome.data])


def test_openais_client_gets_the_same_of_texts_of_token_ids_and_when_it_awaits(
    openai: OpenAI, sync: str, embedder: EngineServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = embedder.log.parent / "model"
    ids = [AutoTokenizer.from_pretrained(model)(text)["input_ids"] for text in TEXTS[:3]]
    expected = of_openai(openai, TEXTS[:3])
    of_ids = openai.embeddings.create(model="any", input=ids, encoding_format="float")
    query = openai.embeddings.create(
        model="any", input=TEXTS[:3], extra_body={"prompt_name": "query"}
    )

    async def awaited() -> list[list[float]]:
        async with AsyncOpenAI(base_url=f"{sync}/v1", api_key=KEY, max_retries=0) as client:
            outcome = await client.embeddings.create(model="any", input=TEXTS[:3], dimensions=16)
        return [each.embedding for each in outcome.data]

    short = torch.tensor(asyncio.run(awaited()))
    torch.testing.assert_close(
        torch.tensor([each.embedding for each in of_ids.data]), expected, atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        short, torch.nn.functional.normalize(expected[:, :16]), atol=1e-5, rtol=0
    )
    assert of_ids.usage.prompt_tokens == sum(map(len, ids))
    assert query.usage.prompt_tokens > of_ids.usage.prompt_tokens


def test_the_hubs_client_gets_the_same(sync: str, openai: OpenAI) -> None:
    client = InferenceClient(sync, token=KEY)
    outcome = torch.from_numpy(client.feature_extraction(TEXTS[:3]))
    torch.testing.assert_close(outcome, of_openai(openai, TEXTS[:3]), atol=1e-5, rtol=0)
    query = client.feature_extraction(TEXTS[:1], prompt_name="query")
    assert not torch.allclose(torch.from_numpy(query), outcome[:1], atol=1e-3)


def test_the_performance_client_splits_awaits_and_posts_batches(sync: str, openai: OpenAI) -> None:
    client = PerformanceClient(base_url=sync, api_key=KEY)
    split = RequestProcessingPreference(batch_size=4, max_concurrent_requests=8)
    expected = of_openai(openai, TEXTS)
    plain = client.embed(input=TEXTS, model="any", preference=split)

    async def awaited() -> torch.Tensor:
        outcome = await client.async_embed(input=TEXTS, model="any", preference=split)
        return torch.from_numpy(outcome.numpy())

    posted = client.batch_post(
        "/v1/embeddings", [{"model": "any", "input": text} for text in TEXTS], preference=split
    )
    for outcome in (
        torch.from_numpy(plain.numpy()), asyncio.run(awaited()),
        torch.tensor([each["data"][0]["embedding"] for each in posted.data]),
    ):  # fmt: skip
        torch.testing.assert_close(outcome, expected, atol=1e-5, rtol=0)
    assert plain.usage.total_tokens == sum(each["usage"]["total_tokens"] for each in posted.data)


def test_a_hedge_is_a_second_request_of_which_the_first_answer_counts(
    house, sync: str, embedder: EngineServer, gates: Gates
) -> None:
    client = PerformanceClient(base_url=sync, api_key=KEY)
    hedged = RequestProcessingPreference(
        batch_size=1, hedge_delay=0.05, hedge_budget_pct=3.0, timeout_s=DEADLINE_SECONDS
    )
    before = embedder.metric("engine_end_to_end_seconds_count")
    with ThreadPoolExecutor(1) as threads:
        gates.hold(STEP)
        try:
            future = threads.submit(client.embed, input=["one"], model="any", preference=hedged)
            wait_for(lambda: embedder.requests() == 2, what="the hedge to come to the engine")
        finally:
            gates.let_go(STEP)
        assert future.result(DEADLINE_SECONDS).data[0].index == 0
    wait_for(lambda: embedder.requests() == 0, what="both requests to be over")
    assert embedder.metric("engine_end_to_end_seconds_count") >= before + 1


def test_who_gives_up_leaves_nothing_in_the_engine(
    sync: str, embedder: EngineServer, gates: Gates
) -> None:
    client = PerformanceClient(base_url=sync, api_key=KEY)
    impatient = RequestProcessingPreference(
        batch_size=4, timeout_s=0.5, total_timeout_s=0.5, max_retries=0
    )
    gates.hold(STEP)
    try:
        with pytest.raises(Exception, match=r"(?i)time"):
            client.embed(input=TEXTS, model="any", preference=impatient)
        wait_for(lambda: embedder.requests() == 0, what="the engine to hear that they have left")
    finally:
        gates.let_go(STEP)
