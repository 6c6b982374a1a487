"""Inputs that differ are named as people say them, with both values."""

from controlplane.domain.reuse import differences

BEFORE = {
    "commit": "c1",
    "spec": {"trt_llm": {"build": {"max_seq_len": 512}}, "secrets": {}},
    "tool_versions": {"torch": "2.12.0", "python": "3.11.7"},
    "calibration": {"dataset": "team/chats", "revision": "sha256:1"},
}


def test_each_kind_of_input_is_named_with_both_values() -> None:
    now = {
        "commit": "c2",
        "spec": {"trt_llm": {"build": {"max_seq_len": 1024}}, "secrets": {}},
        "tool_versions": {"torch": "2.13.0", "python": "3.11.7"},
        "calibration": {"dataset": "team/chats", "revision": "sha256:2"},
    }
    assert [(each.label, each.before, each.now) for each in differences(BEFORE, now)] == [
        ("calibration data: revision", "sha256:1", "sha256:2"),
        ("checkpoint commit", "c1", "c2"),
        ("trt_llm.build.max_seq_len", 512, 1024),
        ("torch version", "2.12.0", "2.13.0"),
    ]


def test_what_only_one_of_them_has_is_said_and_equal_inputs_have_nothing_to_say() -> None:
    without = {name: value for name, value in BEFORE.items() if name != "calibration"}
    by_label = {each.label: (each.before, each.now) for each in differences(BEFORE, without)}
    assert by_label == {
        "calibration data: dataset": ("team/chats", "not set"),
        "calibration data: revision": ("sha256:1", "not set"),
    }
    assert differences(BEFORE, BEFORE) == ()
