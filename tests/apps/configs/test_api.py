"""Configs over REST: made, saved without losing anybody's work, checked, and nobody else's."""

from typing import Any

import pytest

from apps.configs.models import CheckpointRecord, Config, Revision
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast, config_text, make_api_key, make_config, make_revision

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cpu_host")]

ROOT = {
    "trt_llm": {"build": {"checkpoint_repository": {"source": "LOCAL", "repo": "/checkpoints/a"}}}
}


def make(client: RestClient, name: str = "tiny", **body: Any) -> Any:
    status, answer = client.post("/v1/configs", {"name": name, "text": config_text()} | body)
    assert status == 201, answer
    return answer


def test_owner_and_member_make_and_read_a_config(cast: Cast) -> None:
    for who in (cast.owner, cast.member):
        client = client_of(who)
        made = make(client, name=who.email)
        assert made["revision"] == 1
        assert made["last_revision"]["text"] == config_text()
        assert made["last_revision"]["created_by"] == who.email
        status, got = client.get(f"/v1/configs/{made['id']}")
        assert (status, got) == (200, made)
        listed = client.get("/v1/configs")[1]["items"]
        assert {key: made[key] for key in listed[0]} == listed[0]


def test_an_object_becomes_yaml_in_its_own_order(cast: Cast) -> None:
    client = client_of(cast.owner)
    body = {"name": "tiny", "config": {"model_name": "tiny", **ROOT}}
    status, made = client.post("/v1/configs", body)
    assert status == 201
    assert made["last_revision"]["text"].startswith("model_name: tiny\ntrt_llm:\n")
    assert made["last_revision"]["config"]["model_name"] == "tiny"


def test_two_people_who_save_at_once_both_keep_their_text(cast: Cast) -> None:
    owner, member = client_of(cast.owner), client_of(cast.member)
    path = f"/v1/configs/{make(owner)['id']}/revisions"
    first, second = config_text() + "# first\n", config_text() + "# second\n"
    status, saved = owner.post(path, {"text": first, "expected_revision": 1})
    assert (status, saved["number"]) == (201, 2)
    status, refused = member.post(path, {"text": second, "expected_revision": 1})
    assert (status, refused["code"]) == (409, "stale_revision")
    assert refused["details"] == {
        "expected_revision": 1,
        "last_revision": 2,
        "last_text": first,
        "your_text": second,
    }
    assert "owner@example.com" in refused["message"]
    assert member.post(path, {"text": second, "expected_revision": 2})[1]["number"] == 3
    assert [each["number"] for each in owner.get(path)[1]["items"]] == [3, 2, 1]
    assert owner.get(f"{path}/2")[1]["text"] == first


def test_saving_the_same_text_again_makes_no_revision(cast: Cast) -> None:
    client = client_of(cast.owner)
    path = f"/v1/configs/{make(client)['id']}/revisions"
    status, saved = client.post(path, {"text": config_text(), "expected_revision": 1})
    assert (status, saved["number"]) == (201, 1)
    assert Revision.objects.count() == 1


def test_an_outsider_finds_nothing_and_changes_nothing(cast: Cast) -> None:
    made = make(client_of(cast.owner))
    outsider, path = client_of(cast.outsider), f"/v1/configs/{made['id']}"
    answers = [
        outsider.get(path),
        outsider.get(f"{path}/revisions"),
        outsider.get(f"{path}/revisions/1"),
        outsider.post(f"{path}/revisions", {"text": config_text(), "expected_revision": 1}),
    ]
    unknown = outsider.get("/v1/configs/zzzzzzzz")
    for status, body in answers:
        assert status == unknown[0] == 404
        assert body["message"].replace(made["id"], "zzzzzzzz") == unknown[1]["message"]
    assert outsider.get("/v1/configs")[1]["items"] == []
    assert make(outsider)["name"] == made["name"]
    assert RestClient(None).get(path)[0] == 401


def test_a_text_that_does_not_parse_is_refused_with_every_error(cast: Cast) -> None:
    text = "trt_llm:\n  build:\n    max_seq_len: -1\n    max_bacth_size: 3\n"
    status, body = client_of(cast.owner).post("/v1/configs", {"name": "bad", "text": text})
    assert status == 400
    assert body["code"].startswith("EH0")
    findings = body["details"]["findings"]
    assert {finding["line"] for finding in findings} >= {3, 4}
    assert Config.objects.count() == 0


def test_a_name_is_taken_once_per_team(cast: Cast) -> None:
    make(client_of(cast.owner))
    body = {"name": "tiny", "text": config_text()}
    status, refused = client_of(cast.member).post("/v1/configs", body)
    assert (status, refused["code"], refused["fields"]) == (409, "name_taken", ["name"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "a: 1"}, "name"),
        ({"name": "a\u0007b", "text": "a: 1"}, "name"),
        ({"name": "a", "txt": "a: 1"}, "txt"),
        ({"name": "a", "text": "a: 1", "team": "other"}, "team"),
        ({"name": "a", "text": "x" * 200_001}, "text"),
    ],
)
def test_a_wrong_body_names_its_field(cast: Cast, body: dict[str, Any], field: str) -> None:
    status, answer = client_of(cast.owner).post("/v1/configs", body)
    assert (status, answer["fields"]) == (400, [field])


@pytest.mark.parametrize("body", [{}, {"text": "a: 1", "config": {}}])
def test_a_check_takes_text_or_an_object(cast: Cast, body: dict[str, Any]) -> None:
    status, answer = client_of(cast.owner).post("/v1/configs/check", body)
    assert (status, answer["message"]) == (400, "Send either `text` or `config`.")


@pytest.mark.parametrize(
    "text",
    [
        'model_name: "a\\0b"\n' + config_text(),
        'description: "\\ud800"\n' + config_text(),
        '"\\ud800": 1\n' + config_text(),
        config_text().replace("/checkpoints/tiny", '"\\0"'),
        "a: \x07\n",
        "{" * 5000,
        "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n" * 20,
        "",
        "- 1",
        "!!python/object/apply:os.system ['true']",
    ],
)
def test_hostile_texts_are_answered_and_break_nothing(cast: Cast, text: str) -> None:
    client = client_of(cast.owner)
    status, answer = client.post("/v1/configs/check", {"text": text})
    assert status in {200, 400}
    assert status == 400 or answer["blocks_build"]
    assert client.post("/v1/configs", {"name": "a", "text": text})[0] == 400


def test_a_check_answers_in_the_one_shape_and_stores_no_config(cast: Cast) -> None:
    client = client_of(cast.member)
    status, answer = client.post("/v1/configs/check", {"text": config_text()})
    assert status == 200
    assert set(answer) == {
        "findings", "waiting", "effective", "runtime", "runtime_version", "untested", "plan",
        "blocks_build",
    }  # fmt: skip
    assert (answer["runtime"], answer["untested"]) == ("native", [])
    assert answer["blocks_build"]
    assert {fact for each in answer["waiting"] for fact in each["facts"]} >= {"checkpoint"}
    assert Config.objects.count() == 0
    assert CheckpointRecord.objects.filter(team=cast.team).count() == 1


def test_keys_that_only_call_models_check_nothing(cast: Cast) -> None:
    client = RestClient(make_api_key(team=cast.team, type="WORKSPACE_INVOKE"))
    assert client.post("/v1/configs/check", {"text": config_text()})[0] == 403
    assert client.get("/v1/configs")[0] == 403


def test_a_list_takes_the_same_queries_for_ten_rows_and_for_fifty(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    client = client_of(cast.owner)
    client.get("/v1/configs")
    for expected in (10, 50):
        while Config.objects.filter(team=cast.team).count() < expected:
            make_revision(config=make_config(team=cast.team))
        with django_assert_num_queries(2):
            assert len(client.get("/v1/configs", limit=50)[1]["items"]) == expected


def test_a_secret_names_the_configs_whose_last_revision_lists_it(cast: Cast) -> None:
    client = client_of(cast.owner)
    text = config_text() + "secrets:\n  hf-access-token: null\n"
    made = make(client, text=text)
    client.post("/v1/secrets", {"name": "hf_access_token", "value": "v"})
    (secret,) = client.get("/v1/secrets")[1]["secrets"]
    url = f"/configs/{made['id']}/"
    assert secret["used_by"] == [{"kind": "config", "id": made["id"], "name": "tiny", "url": url}]
    client.post(
        f"/v1/configs/{made['id']}/revisions", {"text": config_text(), "expected_revision": 1}
    )
    assert client.get("/v1/secrets")[1]["secrets"][0]["used_by"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"cursor": "a\0b"}, "cursor"),
        ({"cusor": "a"}, "cusor"),
    ],
)
def test_a_wrong_query_names_its_field(cast: Cast, query: dict[str, str], field: str) -> None:
    status, body = client_of(cast.owner).get("/v1/configs", **query)
    assert (status, body["fields"]) == (400, [field])


def test_a_revision_number_past_all_bounds_is_a_404(cast: Cast) -> None:
    client = client_of(cast.owner)
    path = f"/v1/configs/{make(client)['id']}/revisions/{10**30}"
    assert client.get(path)[0] == 404


def test_what_is_not_here_is_told_over_rest_and_text_that_is_no_yaml_is_placed(cast: Cast) -> None:
    client = client_of(cast.owner)
    text = config_text().replace("resources:\n", "resources:\n  accelerator: H100\n")
    _, body = client.post("/v1/configs/check", {"text": text})
    assert {"EH102", "EH690"} <= {finding["code"] for finding in body["findings"]}
    status, body = client.post("/v1/configs/check", {"text": "model_name: a: b\ntrt_llm\n x: y\n"})
    assert status == 200
    placed = [(each["code"], each["line"], each["column"]) for each in body["findings"]]
    assert placed[:2] == [("EH001", 1, 14), ("EH001", 2, 1)]
    assert body["blocks_build"] is True


def test_a_config_is_renamed_and_keeps_its_id_and_revisions(cast: Cast) -> None:
    client = client_of(cast.owner)
    made, other = make(client), make(client, name="other")
    status, renamed = client.patch(f"/v1/configs/{made['id']}", {"name": "better"})
    assert status == 200
    assert (renamed["id"], renamed["name"], renamed["revision"]) == (made["id"], "better", 1)
    status, refusal = client.patch(f"/v1/configs/{made['id']}", {"name": other["name"]})
    assert (status, refusal["code"]) == (409, "name_taken")
    assert client_of(cast.outsider).patch(f"/v1/configs/{made['id']}", {"name": "x"})[0] == 404
