"""One model by its name, asked for by the official client."""

import openai
import pytest

from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.gateway.stage.scripts import answers


def _client(url):
    base = f"{url}{CHAT.removesuffix('/chat/completions')}"
    return openai.OpenAI(base_url=base, api_key=KEY, max_retries=0)


@pytest.mark.parametrize("served", ["served", "acme/a model"])
def test_the_served_model_and_its_adapters_are_found_by_name(house, served):
    house.publish(house.engine(answers), served_model_name=served)
    with _client(house.gateway().url) as client:
        assert client.models.retrieve(served).id == served
        adapter = client.models.retrieve("polite")
        assert (adapter.id, adapter.object, adapter.parent) == ("polite", "model", served)
        with pytest.raises(openai.NotFoundError, match="There is no model `other` here"):
            client.models.retrieve("other")


def test_a_sleeping_deployment_tells_its_model_without_being_woken(house, http):
    house.publish(status="SCALED_TO_ZERO")
    gateway = house.gateway()
    url = f"{gateway.url}{CHAT.removesuffix('/chat/completions')}/models/served"
    assert http.get(url).json()["id"] == "served"
    assert gateway.report().woken == []
    assert http.post(url).status_code == 405
