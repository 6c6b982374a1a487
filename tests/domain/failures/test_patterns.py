"""Every pattern explains its own example and no other; what nobody knows stays unknown."""

import re
import signal
from collections import Counter
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from controlplane.domain.failures import Blame
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.explain import explain
from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.failures.patterns.table import FAMILIES, PATTERNS
from controlplane.domain.failures.registry.build import CRASHED
from controlplane.domain.spec import parse_text
from controlplane.domain.spec.edit import edit_yaml

CONFIG = """\
model_name: tiny
resources:
  accelerator: H100
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: org/model
      revision: v9
    quantization_type: fp4_kv
    quantization_config:
      calib_dataset: org/chats
"""
NOTHING_KNOWN = (
    "",
    "Loading weights: 100%|██████████| 21/21 [00:00<00:00, 42468.84it/s]",
    'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: 42 is no colour',
    "KeyError: 'weird'",
    "12:00:00 calibrated 256 of 256 samples, error of the mean 0.01",
    "AssertionError",
)


def spec() -> dict[str, Any]:
    parsed = parse_text(CONFIG)
    assert parsed.spec is not None, parsed.errors
    return parsed.spec.model_dump(mode="json")


def remains_of(pattern: Pattern) -> CrashEvidence:
    return CrashEvidence(
        subject="Step `calibrate`",
        exit_code=pattern.example.exit_code,
        log_tail=pattern.example.text,
        spec=spec(),
        was_oom_killed=pattern.example.was_oom_killed,
    )


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.code)
def test_a_pattern_explains_its_example_and_no_other_does(pattern: Pattern) -> None:
    evidence = remains_of(pattern)
    failure = explain(evidence)
    assert failure.code == pattern.code
    assert failure.blame is pattern.blame
    others = [each for each in PATTERNS if each is not pattern]
    assert [each.code for each in others if each.last_match(evidence.log_tail)] == []
    if not evidence.log_tail:
        assert [each.code for each in others if each.ending and each.ending(evidence)] == []


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.code)
def test_a_pattern_speaks_in_whole_sentences_with_every_value_filled_in(pattern: Pattern) -> None:
    for evidence in (remains_of(pattern), replace(remains_of(pattern), spec={})):
        failure = explain(evidence)
        for text in (failure.sentence, failure.hint or ""):
            assert text[0].isupper() or text.startswith(("`", "config.json", "tokenizer"))
            assert not re.search(r"\{[a-z]+\}|``|  | \.(?:\s|$)", text)
    assert pattern.example.source
    assert date.fromisoformat(pattern.example.checked)


@pytest.mark.parametrize(
    "pattern", [each for each in PATTERNS if each.fix_for], ids=lambda pattern: pattern.code
)
def test_a_fix_changes_the_config_into_one_that_is_valid(pattern: Pattern) -> None:
    fix = explain(remains_of(pattern)).fix
    assert fix
    changed = edit_yaml(CONFIG, fix)
    assert changed != CONFIG
    parsed = parse_text(changed)
    assert parsed.spec is not None, parsed.errors
    again = explain(replace(remains_of(pattern), spec=parsed.spec.model_dump(mode="json"))).fix
    assert again != fix, "a fix that did not help is not offered again"


@pytest.mark.parametrize("text", NOTHING_KNOWN)
def test_what_no_pattern_knows_is_told_by_its_last_lines(text: str) -> None:
    failure = explain(CrashEvidence(subject="Step `gate`", exit_code=3, log_tail=text))
    assert failure.code == CRASHED.code
    assert failure.blame is Blame.OURS
    assert "Step `gate` ended with status 3" in failure.sentence
    assert "support bundle" in (failure.hint or "")
    assert failure.detail == (text or None)


def test_there_are_patterns_for_everything_that_builds_touch() -> None:
    assert len(PATTERNS) >= 40
    assert max(Counter(pattern.code for pattern in PATTERNS).values()) == 1
    assert all(len(family) >= 5 for family in FAMILIES.values())


def test_the_exception_that_ended_the_process_wins_over_those_it_survived() -> None:
    text = (
        "ReadTimeout: the read operation timed out, trying again\n"
        "Traceback (most recent call last):\n"
        "httpx2.ConnectError: [Errno 111] Connection refused\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        "huggingface_hub.errors.LocalEntryNotFoundError: the hub cannot be asked\n"
    )
    assert explain(CrashEvidence(subject="It", exit_code=1, log_tail=text)).code == "EHB-REFUSED"
    later = text + 'Traceback (most recent call last):\n  File "x.py"\nValueError: another thing\n'
    assert explain(CrashEvidence(subject="It", exit_code=1, log_tail=later)).code == CRASHED.code


def test_a_reason_printed_ahead_of_a_vague_exception_is_found() -> None:
    text = (
        "lm_head.weight  | MISMATCH | Reinit due to size mismatch - ckpt: torch.Size([512, 64]) "
        "vs model:torch.Size([512, 32])\n"
        "Traceback (most recent call last):\n"
        "RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error.\n"
    )
    assert explain(CrashEvidence(subject="It", exit_code=1, log_tail=text)).code == "EHP-SHAPE"


def test_words_win_over_the_signal_and_a_kill_for_memory_is_told_from_any_other() -> None:
    killed = CrashEvidence(subject="Step `gate`", exit_code=-signal.SIGKILL, log_tail="working\n")
    assert explain(killed).code == "EHB-KILLED"
    assert explain(replace(killed, was_oom_killed=True)).code == "EHB-OOM-KILLED"
    assert explain(replace(killed, log_tail="MemoryError\n")).code == "EHB-OUT-OF-MEMORY"


def test_counts_of_bytes_can_be_read() -> None:
    text = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4294967296 bytes."
    failure = explain(CrashEvidence(subject="It", exit_code=1, log_tail=text))
    assert "4,294,967,296 bytes" in failure.sentence


def test_what_looks_like_a_secret_is_in_neither_sentence_nor_detail() -> None:
    token = "hf_" + "a" * 34
    for text in (f"weird thing happened with {token}", f"NCCL error: refused {token} there"):
        failure = explain(CrashEvidence(subject="It", exit_code=1, log_tail=text))
        assert token not in str(failure.to_json())
        assert "[redacted]" in (failure.detail or "")


OWN = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 79.11 GiB of which 1.00 GiB is free. Process 7 has 78.11 GiB memory in use. Of "
    "the allocated memory 75.00 GiB is allocated by PyTorch, with 1.00 GiB allocated in private "
    "pools (e.g., CUDA Graphs), and 1.50 GiB is reserved by PyTorch but unallocated."
)


@pytest.mark.parametrize(("own", "code"), [("75.00 GiB", "EHQ-CARD-MEMORY"),
                                           ("600.00 MiB", "EHB-CARD-SHARED")])  # fmt: skip
def test_whose_memory_a_full_device_holds_decides_what_is_told(own: str, code: str) -> None:
    # The number of the process is of another container, and says nothing.
    words = OWN.replace("75.00 GiB", own)
    failure = explain(CrashEvidence(subject="Step `calibrate`", exit_code=1, log_tail=words))
    assert failure.code == code
    assert (failure.field is None) == (code == "EHB-CARD-SHARED")
