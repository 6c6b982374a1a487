"""A budget of bits in the editor's form."""

import yaml

from apps.configs.form_fields import GROUPS
from apps.configs.form_values import apply_changes, field_text

FIELD = next(each for group in GROUPS for each in group.fields if each.name == "effective_bits")
TEXT = "model_name: a\ntrt_llm:\n  build:\n    quantization_type: fp4\n"


def test_a_budget_becomes_a_number_and_comes_back_as_it_was_typed() -> None:
    text = apply_changes(TEXT, ["effective_bits"], {"effective_bits": "6.5"})
    content = yaml.safe_load(text)
    assert content["trt_llm"]["build"]["quantization_config"]["effective_bits"] == 6.5
    assert field_text(content, FIELD) == "6.5"
