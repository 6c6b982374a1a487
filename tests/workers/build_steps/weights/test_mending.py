"""Which setting is at fault, by what leaving it out mends."""

from collections.abc import Mapping
from typing import Any

from workers.build_steps.weights.mending import mending


def without(*names: str) -> Any:
    def works(config: Mapping[str, Any]) -> bool:
        return not all(name in config for name in names)

    return works


def test_the_one_setting_that_mends_is_named_with_its_value() -> None:
    assert mending({"a": 1, "b": [2]}, without("b")) == "`b` is [2]: "


def test_of_settings_that_contradict_each_other_both_are_named() -> None:
    assert mending({"a": 1, "b": 2, "c": 3}, without("a", "b")) == "`a` is 1 or `b` is 2: "


def test_the_innermost_setting_is_named_and_not_what_holds_it() -> None:
    config = {"rope": {"factor": 0, "type": "yarn"}}
    works = lambda each: "factor" not in each.get("rope", {})  # noqa: E731
    assert mending(config, works) == "`rope.factor` is 0: "


def test_what_names_the_class_is_never_left_out_and_nothing_is_said_where_nothing_mends() -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "a": 1}
    tried: list[Mapping[str, Any]] = []
    assert mending(config, lambda each: bool(tried.append(each))) == ""
    assert tried == [{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}]


def test_a_long_value_is_cut() -> None:
    statement = mending({"a": "x" * 500}, without("a"))
    assert len(statement) < 100
