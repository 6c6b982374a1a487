"""A message is found in a whole log as an engine leaves it: by prefix, traceback and echo.

Precedence: an engine's own words, then those of its host, then echoes; of two, the later one.
"""

import itertools

import pytest

from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.failures.patterns.table import PATTERNS as OF_BUILDS
from controlplane.domain.runtimes import RUNTIMES, native, trtllm, vllm
from controlplane.domain.runtimes.log_lines import bare
from tests.every_case import every_case

_AT = "11-30 10:00:00 [core.py:1231] "
_STARTED = (
    "INFO 11-30 09:59:58 [api_utils.py:339] version 0.25.1",
    "WARNING 11-30 09:59:59 [system_utils.py:299] Found ulimit of 20000. This can cause fd limit "
    "errors like `OSError: [Errno 24] Too many open files`.",
    "INFO 11-30 09:59:59 [utils.py:1] earlier start: RuntimeError: CUDA error: out of memory",
)
_TRACE = (
    "Traceback (most recent call last):",
    '  File "/srv/vllm/v1/engine/core.py", line 1200, in run_engine_core',
    "    engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
    "                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
)
_ECHO = (
    "Traceback (most recent call last):",
    '  File "/srv/vllm/v1/engine/utils.py", line 1119, in wait_for_engine_startup',
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): "
    "{'EngineCore': 1}",
    "[rank0]:[W1130 10:00:01 ProcessGroupNCCL.cpp:1524] Warning: destroy_process_group() was not "
    "called",
)
PREFIXES = {
    "plain": "",
    "engine": f"(EngineCore_DP0 pid=71) ERROR {_AT}",
    "worker": f"\x1b[1;36m(Worker_TP1 pid=72)\x1b[0;0m ERROR {_AT}",
    "of ray": f"(EngineCore pid=71) (RayWorkerWrapper pid=73, ip=10.0.0.2) ERROR {_AT}",
    "of rank": "[rank0]: ",
    "of 2024": "ERROR 12-18 19:47:34 engine.py:366] ",
}


def log_of(text: str, prefix: str) -> str:
    entries = [f"{prefix}{line}" for line in (*_TRACE, *text.splitlines())]
    return "\n".join((*_STARTED, *entries, *_ECHO, ""))


@every_case(
    "pattern, prefix",
    itertools.product(vllm.failures.PATTERNS, PREFIXES),
    ids=lambda case: f"{case[0].code} of {case[1]}",
)
def test_a_message_is_found_whichever_process_printed_it(pattern: Pattern, prefix: str) -> None:
    failure = vllm.failures.explain(log_of(pattern.example.text, PREFIXES[prefix]), {})
    assert failure is not None
    assert failure.code == pattern.code
    assert failure.detail
    assert "pid=" not in failure.detail
    for statement in (failure.sentence, failure.hint or ""):
        assert not any(gap in statement for gap in ("  ", "``", "()", " ."))


@pytest.mark.parametrize("pattern", native.failures.PATTERNS, ids=lambda each: each.code)
def test_what_the_host_did_is_found_in_the_same_log(pattern: Pattern) -> None:
    failure = vllm.failures.explain(log_of(pattern.example.text, PREFIXES["engine"]), {})
    own = [each for each in vllm.failures.PATTERNS if each.last_match(pattern.example.text)]
    assert failure is not None
    assert failure.code == (own[-1].code if own else pattern.code)


def test_an_echo_alone_is_told_as_one() -> None:
    failure = vllm.failures.explain("\n".join((*_STARTED, *_ECHO)), {})
    assert failure is not None
    assert failure.code == vllm.failures.ECHOES[0].code


def test_a_rank_that_was_killed_is_told_by_its_number_and_one_that_spoke_by_its_words() -> None:
    end = (
        f"(EngineCore pid=71) ERROR {_AT}Worker proc VllmWorker-1 died unexpectedly, shutting down "
        "executor.",
        f"(EngineCore pid=71) ERROR {_AT}RuntimeError: Executor failed.",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
    )
    silent = vllm.failures.explain("\n".join((*_STARTED, *end)), {})
    assert silent is not None
    assert silent.code == "EVL-RANK-ENDED"
    assert "rank 1 ended" in silent.sentence
    spoke = "(Worker_TP1 pid=72) torch.AcceleratorError: CUDA error: an illegal memory access was "
    failure = vllm.failures.explain("\n".join((*_STARTED, f"{spoke}encountered", *end)), {})
    assert failure is not None
    assert failure.code == "EVL-ILLEGAL-ACCESS"


def test_the_later_of_two_messages_is_the_one_that_ended_it() -> None:
    weights = "ValueError: Cannot find the config file for awq"
    heads = "ValueError: Head size 160 is not supported by PagedAttention."
    for first, second, code in ((weights, heads, "EVL-HEAD-SIZE"),
                                (heads, weights, "EVL-METHOD-CONFIG")):  # fmt: skip
        failure = vllm.failures.explain(log_of(f"{first}\n{second}", PREFIXES["engine"]), {})
        assert failure is not None
        assert failure.code == code


def test_news_of_an_engine_are_no_failure_and_its_words_are_kept() -> None:
    log = f"INFO {_AT}address already in use, taking 8001\n(APIServer pid=3)   two  spaces\n"
    assert bare(log) == "\n  two  spaces\n"
    assert vllm.failures.explain(log, {}) is None


def test_more_than_a_hundred_messages_of_starts_are_known_beside_those_of_builds() -> None:
    starts = {each.code for each in (*vllm.failures.LOG_PATTERNS, *native.failures.PATTERNS)}
    assert len(starts) >= 130
    assert len({each.code for each in (*trtllm.failures.PATTERNS, *OF_BUILDS)} | starts) >= 250
    assert set(RUNTIMES) == {"native", "trtllm", "vllm"}
