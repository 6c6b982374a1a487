"""Two builds side by side: chosen from the list, told in the address, over REST as well."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from apps.builds.models import Build
from tests import factories
from tests.apps.builds.stage import GATE, TOOLS, make_inputs, make_passported, make_told_build
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.apps.rest_client import client_of
from tests.folded import folded

if TYPE_CHECKING:
    from tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
FINDING = {
    "code": "EH201", "name": "it", "severity": "warning", "message": "Small models gain little.",
    "fields": ["trt_llm.build"], "line": None, "fix": None, "source": None,
}  # fmt: skip


@pytest.fixture
def pair(cast: "Cast") -> tuple[Build, Build]:
    """Two builds of one config that differ in everything that can differ."""
    config = factories.make_config(team=cast.team)
    spec = factories.spec_json()
    spec["trt_llm"]["build"]["quantization_type"] = "fp8"
    first = factories.make_revision(
        config=config, findings=[FINDING], plan={"capacity": {"kv_tokens": 1000}}
    )
    second = factories.make_revision(
        config=config, spec=spec, plan={"capacity": {"kv_tokens": 2000}}
    )
    left = make_told_build(artifact=make_passported(team=cast.team), revision=first)
    newer = make_inputs(spec, tool_versions=TOOLS | {"torch": "2.14.0"})
    artifact = make_passported(
        team=cast.team, inputs=newer, size_bytes=250_000, content_digest=f"sha256:{'cd' * 32}"
    )
    right = make_told_build(artifact=artifact, revision=second, seconds=4.0)
    right.steps.filter(name="gate").update(result=GATE)
    right.steps.filter(name="smoke_test").update(
        result={"tokens_per_second": 50.0, "first_token_seconds": 0.2, "answer": "Hi"}
    )
    return left, right


def test_the_page_shows_what_differs_and_the_list_leads_there(
    cast: "Cast", pair: tuple[Build, Build]
) -> None:
    left, right = pair
    owner = signed_in(cast.owner)
    rows = folded(owner.get("/builds/").content.decode())
    for build in pair:
        assert f'form="compare" name="build" value="{build.number}"' in rows
    address = f"/builds/compare/?build={left.number}&build={right.number}"
    whole = folded(owner.get(f"/builds/{right.number}/").content.decode())
    assert address.replace("&", "&amp;") in whole
    page = folded(owner.get(address).content.decode())
    for statement in (
        '<span title="trt_llm.build.quantization_type">Quantization</span>',
        "EH201 on trt_llm.build",
        '<span title="capacity.kv_tokens">Capacity, KV tokens</span>',
        '<span title="figures.perplexity_change">Figures, perplexity change</span>',
        "<code>torch</code>",
        "2.14.0",
        '<span title="Smoke test.seconds">Smoke test, duration</span>',
        '<span title="tokens_per_second">Tokens per second</span>',
        "×\u202f0.5",
    ):
        assert statement in page, statement
    for build in pair:
        digest = build.artifact.content_digest if build.artifact else ""
        assert f"<code>{digest[:19]}</code>" in page
        assert f'data-copy="{digest}"' in page
    assert "trt_llm.build.max_seq_len" not in page
    assert ">same<" not in page
    (verdict,) = re.findall(r'<p class="lead">([^<]+)</p>', page)
    assert verdict.startswith("Both builds succeeded; Quantization unset \u2192 fp8; ")
    assert verdict.endswith("it holds 100\u202f% more tokens.")
    assert left.artifact is not None
    assert ("smaller" in verdict) == (left.artifact.size_bytes > 250_000)
    turned = owner.get(f"/builds/compare/?build={right.number}&build={left.number}")
    assert f"Builds {left.number} and {right.number}" in folded(turned.content.decode())


def test_rest_compares_with_another_build_or_the_one_before(
    cast: "Cast", pair: tuple[Build, Build]
) -> None:
    left, right = pair
    client = client_of(cast.owner)
    path = f"/v1/builds/{right.id}/comparison"
    status, report = client.get(path)
    assert (status, report["left"], report["right"]) == (200, left.id, right.id)
    assert client.get(path, against=left.id)[1] == report
    parts: dict[str, Any] = {part["name"]: part["rows"] for part in report["parts"]}
    assert parts["config"] == [
        {
            "label": "trt_llm.build.quantization_type", "left": None, "right": "fp8",
            "differs": True,
        }
    ]  # fmt: skip
    torch = next(row for row in parts["tools"] if row["label"] == "torch")
    assert (torch["left"], torch["right"]) == ("2.13.0", "2.14.0")
    assert client.get(path, against=right.id)[0] == 400
    assert client.get(f"/v1/builds/{left.id}/comparison")[0] == 404
    assert client_of(cast.outsider).get(path)[0] == 404


def test_tasks_of_the_gate_are_compared_by_their_figures(
    cast: "Cast", pair: tuple[Build, Build]
) -> None:
    task = {"task": "arc_easy", "metric": "acc_norm", "quantized": 0.69}
    pair[1].steps.filter(name="gate").update(result=GATE | {"tasks": [task]})
    report = client_of(cast.owner).get(f"/v1/builds/{pair[1].id}/comparison")[1]
    (gate,) = (part["rows"] for part in report["parts"] if part["name"] == "gate")
    (row,) = (row for row in gate if row["label"].startswith("tasks"))
    assert (row["label"], row["left"], row["right"]) == ("tasks.arc_easy.acc_norm", None, 0.69)


@pytest.mark.parametrize("query", ["", "?build=1", "?build=1&build=1", "?build=1&build=x"])
def test_anything_but_two_builds_asks_for_two(cast: "Cast", query: str) -> None:
    answer = signed_in(cast.owner).get(f"/builds/compare/{query}")
    assert answer.status_code == 400
    assert "Choose two builds" in answer.content.decode()


def test_the_page_takes_the_committed_number_of_queries_and_is_nobody_elses(
    cast: "Cast", pair: tuple[Build, Build]
) -> None:
    address = f"/builds/compare/?build={pair[0].number}&build={pair[1].number}"
    assert queries_of(signed_in(cast.owner), address) == committed_queries("comparison")
    assert signed_in(cast.outsider).get(address).status_code == 404
