"""Requests of one's own."""

import re

import pytest

from controlplane.domain.benchmarks.samples import MOST_LINES, SampleProblem, read_samples


def test_prompts_messages_and_lengths_are_taken_and_blank_lines_are_not():
    samples = read_samples(
        '{"prompt": "Hi", "completion_tokens": 8}\n\n{"messages": [{"role": "user", '
        '"content": "Hi"}]}\r\n{"prompt_tokens": 900, "completion_tokens": 20}\n'
    )
    assert [each.prompt for each in samples] == ["Hi", None, None]
    assert samples[2].prompt_tokens == 900


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" \n", "no line"),
        ("hello", "Line 1 is no JSON: `hello`"),
        ("[1]", "Line 1 is no object"),
        ('{"prompt": "a"}\n{"text": "b"}', "Line 2 has a field `text`"),
        ('{"completion_tokens": 5}', "Line 1 needs one of"),
        ('{"prompt": "a", "prompt_tokens": 5}', "Line 1 needs one of"),
        ('{"prompt": " "}', "`prompt` is no text"),
        ('{"messages": ["a"]}', "`messages` is no list"),
        ('{"prompt_tokens": true}', "`prompt_tokens` is True"),
        ('{"prompt_tokens": 9, "completion_tokens": -1}', "`completion_tokens` is -1"),
        ('{"prompt": "a"}\n' * (MOST_LINES + 1), "10,001 lines; 10,000 are taken"),
        ("x" * (5 * 2**20), "more than 4 MiB"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(text, says):
    with pytest.raises(SampleProblem, match=re.escape(says)):
        read_samples(text)
