"""No secret reaches a stored log or failure."""

import base64
import json
from urllib.parse import quote

import pytest

from controlplane.domain.log_lines import LogLines
from controlplane.domain.redaction import Redactor

VALUE = "s3cr3t/value+with=signs"


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        quote(VALUE, safe=""),
        json.dumps(VALUE),
        base64.b64encode(VALUE.encode()).decode(),
    ],
)
def test_a_known_value_is_taken_out_in_every_form_it_travels_in(form: str) -> None:
    assert VALUE not in (shown := Redactor([VALUE]).text(f"before {form} after"))
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert "[redacted]" in shown
    assert base64.b64encode(VALUE.encode()).decode().rstrip("=") not in shown


@pytest.mark.parametrize("before", ["", "a", "ab", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy", ":tail"])
def test_a_value_within_longer_base64_is_taken_out(before: str, after: str) -> None:
    whole = f"{before}{VALUE}{after}".encode()
    for encoded in (base64.b64encode(whole), base64.urlsafe_b64encode(whole)):
        shown = Redactor([VALUE]).text(f"cookie {encoded.decode()} sent")
        assert "[redacted]" in shown
        left = "".join(part for part in shown.split() if part != "[redacted]")
        assert encoded.decode()[8:24] not in left


def test_a_value_wrapped_over_two_lines_is_taken_out_of_both() -> None:
    wrapped = f"key is {VALUE[:11]}\n    {VALUE[11:]} here"
    assert Redactor([VALUE]).text(wrapped) == "key is [redacted] here"


def test_a_value_whose_second_line_comes_later_is_taken_out() -> None:
    lines = LogLines(Redactor([VALUE]))
    assert lines.feed(f"first\nkey is {VALUE[:11]}\n".encode()) == "first\n"
    assert lines.feed(f"{VALUE[11:]} here\n".encode()) == "key is [redacted] here\n"
    assert lines.feed(f"again {VALUE[:11]}\n".encode()) == ""
    assert lines.feed(b"and nothing of it\n") == f"again {VALUE[:11]}\nand nothing of it\n"
    assert lines.feed(f"again {VALUE[:11]}\n".encode()) + lines.rest() == f"again {VALUE[:11]}\n"


def test_a_short_value_goes_as_a_word_and_a_very_short_one_stays() -> None:
    redact = Redactor(["test", "abc"]).text
    assert redact("login test: latest tests pass") == "login [redacted]: latest tests pass"
    assert redact("abc") == "abc"


def test_a_longer_value_that_begins_like_another_leaves_nothing_behind() -> None:
    assert Redactor(["abcdef", "abcdef-and-more"]).text("x abcdef-and-more") == "x [redacted]"


def test_a_part_of_a_json_secret_is_taken_out_by_itself() -> None:
    login = {"aws_secret_access_key": "abcd/efgh", "aws_region": "eu-west-1"}
    shown = Redactor([json.dumps(login)]).text("signed abcd/efgh for eu-west-1")
    assert shown == "signed [redacted] for eu-west-1"


def test_each_line_of_a_key_file_is_taken_out() -> None:
    key = '{\n  "private_key_id": "0123456789",\n  "x": 1\n}'
    assert "0123456789" not in Redactor([key]).text('  "private_key_id": "0123456789",')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer [redacted]"),
        ("token hf_abcdefghijklmnopqrstuvwx", "token hf_[redacted]"),
        ("key abcdefgh." + "x" * 43, "key abcdefgh.[redacted]"),
        ("redis://:pass-word@127.0.0.1:1/0", "redis://:[redacted]@127.0.0.1:1/0"),
        ("GET /a?x=1&X-Amz-Signature=00ff11&y=2", "GET /a?x=1&X-Amz-Signature=[redacted]&y=2"),
        ("password='hunter2-hunter2'", "password='[redacted]'"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=4096 eos_token=<|endoftext|>",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "model.layers.0.self_attn.q_proj.weight 576x576",
        "http://127.0.0.1:8000/v1/builds/abcdefgh",
    ],
)
def test_plain_output_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == text


def test_data_is_redacted_inside_lists_and_mappings() -> None:
    data = {"detail": ["see hunter22", {"deep": "hunter22"}], "count": 3, "none": None}
    assert Redactor(["hunter22"]).data(data) == {
        "detail": ["see [redacted]", {"deep": "[redacted]"}],
        "count": 3,
        "none": None,
    }


def test_a_secret_that_arrives_in_two_reads_is_taken_out() -> None:
    lines = LogLines(Redactor([VALUE]))
    assert lines.feed(f"using {VALUE[:7]}".encode()) == ""
    assert lines.feed(f"{VALUE[7:]} now\nnext".encode()) == "using [redacted] now\n"
    assert lines.rest() == "next\n"


def test_a_line_without_an_end_is_cut_and_its_secret_still_taken_out() -> None:
    lines = LogLines(Redactor([VALUE]))
    shown = lines.feed(("x" * 17_000 + VALUE[:9]).encode())
    shown += lines.feed(f"{VALUE[9:]}\n".encode())
    assert VALUE[:9] not in shown
    assert "[redacted]" in shown


def test_a_character_that_arrives_in_two_reads_is_whole() -> None:
    lines = LogLines(Redactor())
    first, second = "ä\n".encode()[:1], "ä\n".encode()[1:]
    assert lines.feed(first) + lines.feed(second) == "ä\n"


def test_of_a_progress_bar_only_the_last_state_is_kept() -> None:
    assert LogLines(Redactor()).feed(b"10%\r50%\r100%\ndone\r\n\0end\n") == "100%\ndone\nend\n"
