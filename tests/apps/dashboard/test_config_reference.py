"""The page of a config's fields, and the schema that editors fetch without a key."""

import json

import jsonschema
import pytest
import yaml
from django.test import Client

from controlplane.domain.config_reference import config_blocks
from tests.apps.pages import signed_in
from tests.factories import config_text, make_cast
from tests.folded import folded

pytestmark = pytest.mark.django_db


def fields(search: str = "") -> str:
    """Return the page of a search."""
    answer = signed_in(make_cast().member).get("/docs/config/", {"q": search} if search else {})
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_every_field_is_there_once() -> None:
    page = fields()
    anchors = [field.anchor for block in config_blocks() for field in block.fields]
    assert len(set(anchors)) == len(anchors)
    assert [each for each in anchors if page.count(f'id="{each}"') != 1] == []
    assert 'aria-current="page">Config fields' in folded(page)


def test_a_field_leads_to_its_rules_and_the_page_to_the_schema(settings: object) -> None:
    page = fields("trt_llm.build.max_batch_size")
    assert 'href="/rules/?q=EH434"' in page
    assert 'href="/schemas/config.json"' in page
    assert "# yaml-language-server: $schema=" in page


@pytest.mark.parametrize(
    ("search", "found", "left_out"),
    [
        ("kv_cache fraction", "trt_llm.runtime.kv_cache_free_gpu_mem_fraction-v1", "resources.cpu"),
        ("EH908", "trt_llm.version_overrides.bei_version", "resources.cpu"),
    ],
)
def test_a_search_leaves_the_rest_out(search: str, found: str, left_out: str) -> None:
    page = fields(search)
    assert f'id="{found}"' in page
    assert f'id="{left_out}"' not in page


def test_a_search_without_a_hit_says_so_and_echoes_text_only() -> None:
    page = fields("<script>nothing")
    assert "No field says that" in page
    assert "<script>nothing" not in page


def test_nobody_else_reads_the_page() -> None:
    assert Client().get("/docs/config/").status_code == 302


def test_an_editor_fetches_the_schema_without_a_key_from_any_page() -> None:
    answer = Client().get("/schemas/config.json")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "max-age" in answer["Cache-Control"]
    schema = json.loads(answer.content)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(config_text()), schema, jsonschema.Draft7Validator)
