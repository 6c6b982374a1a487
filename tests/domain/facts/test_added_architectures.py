"""A class is told to come later only to versions that were seen without it."""

import pytest

from controlplane.domain.facts.added_architectures import comes_later


@pytest.mark.parametrize(
    ("architecture", "version", "later"),
    [
        ("MuseGlimmerForCausalLM", "0.25", "0.29"),
        ("MuseGlimmerForCausalLM", "0.25.1", "0.29"),
        ("MuseGlimmerForCausalLM", "0.27", None),  # nobody has looked
        ("Step5ForCausalLM", "0.27", "0.33"),
        ("Step5ForCausalLM", "0.29", "0.33"),
        ("Step5ForCausalLM", "0.33", None),
        ("LlamaForCausalLM", "0.25", None),
        (None, "0.25", None),
    ],
)
def test_a_class_comes_later_where_a_version_was_seen_without_it(
    architecture: str | None, version: str, later: str | None
) -> None:
    assert comes_later(architecture, version) == later
