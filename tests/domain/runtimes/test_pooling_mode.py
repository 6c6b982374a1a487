"""An embedder's pooling is said to vLLM where it would take another."""

import pytest

from controlplane.domain.facts.pooling import Pooling, read_pooling
from controlplane.domain.rules.examples import BERT
from controlplane.domain.runtimes.vllm.render import render
from controlplane.domain.spec import parse_text

CONFIG = """
model_name: x
resources: {{accelerator: H100}}
trt_llm:
  build:
    base_model: encoder_bert
    checkpoint_repository: {{source: HF, repo: a/b}}
  runtime: {{webserver_default_route: {route}}}
enginehouse: {{runtime: vllm, vllm_args: {arguments}}}
"""


def told(pooling: Pooling | None, *, route: str = "/v1/embeddings", arguments: str = "{}") -> str:
    spec = parse_text(CONFIG.format(route=route, arguments=arguments)).spec
    assert spec is not None
    launch = render(
        spec, BERT.model_copy(update={"pooling": pooling}), model_dir="/m", host="h", port=1,
        python="p", threads=1, memory_bytes=80 * 2**30,
    )  # fmt: skip
    return " ".join(launch.argv)


@pytest.mark.parametrize(
    ("mode", "kind"), [("mean", "MEAN"), ("cls", "CLS"), ("lasttoken", "LAST")]
)
def test_a_mode_that_is_a_word_is_said(mode: str, kind: str) -> None:
    pooling = read_pooling(["modules.json"], {"pooling_mode": mode})
    assert f'--pooler-config {{"pooling_type": "{kind}"}}' in told(pooling)


def test_switches_are_left_to_vllm_which_reads_them() -> None:
    pooling = read_pooling(["modules.json"], {"pooling_mode_mean_tokens": True})
    assert pooling is not None
    assert pooling.modes == ("mean",)
    assert "--pooler-config" not in told(pooling)
    assert "--pooler-config" not in told(None)


def test_scores_of_texts_and_what_the_config_says_itself_are_left_alone() -> None:
    pooling = read_pooling(["modules.json"], {"pooling_mode": "mean"})
    assert "--pooler-config" not in told(pooling, route="/predict")
    own = told(pooling, arguments="{pooler_config: {pooling_type: CLS}}")
    assert own.count("--pooler-config") == 1
    assert '"CLS"' in own
