"""Names in the editor's form: a list in the text, commas between them in the form."""

import yaml

from apps.configs.form_fields import GROUPS
from apps.configs.form_values import apply_changes, field_text

FIELD = next(each for group in GROUPS for each in group.fields if each.name == "exclude_modules")
TEXT = "model_name: a\ntrt_llm:\n  build:\n    quantization_type: fp8\n"


def listed(text: str) -> object:
    build = yaml.safe_load(text)["trt_llm"]["build"]
    return (build.get("quantization_config") or {}).get("exclude_modules")


def test_names_become_a_list_and_come_back_as_they_were_typed() -> None:
    text = apply_changes(TEXT, ["exclude_modules"], {"exclude_modules": "*.o_proj, *.down_proj ,"})
    assert listed(text) == ["*.o_proj", "*.down_proj"]
    assert field_text(yaml.safe_load(text), FIELD) == "*.o_proj, *.down_proj"


def test_an_empty_field_removes_the_list() -> None:
    text = apply_changes(TEXT, ["exclude_modules"], {"exclude_modules": "*.o_proj"})
    assert listed(apply_changes(text, ["exclude_modules"], {"exclude_modules": " , "})) is None
