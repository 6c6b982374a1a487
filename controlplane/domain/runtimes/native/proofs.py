"""Where the native engine was seen to do what its table says."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.runtimes.capability import HOPPER, Feature, Proof

_VERSION = "0.1"
_ON_DEVICE = "benchmarks/results/native-h200-2026-11-28.json"
_BEHIND_GATEWAY = "benchmarks/results/native_deploy-h200-2026-11-28.json"


def _test(place: str) -> Proof:
    return Proof(kept=f"tests/workers/{place}", version=_VERSION)


def _run(file: str, shows: str) -> Proof:
    return Proof(kept=file, shows=shows, version=_VERSION, compute_capability=HOPPER)


_CUDA_TESTS = _run(_ON_DEVICE, "tests.passed")
"""`tests/workers/engine/test_cuda.py`, run on the GPU and kept with what else was seen there."""
PROOFS: Mapping[Feature, tuple[Proof, ...]] = MappingProxyType(
    {
        Feature.CHAT: (
            _test("runtimes/native/test_openai_client.py::test_chat_answers"),
            _run(_BEHIND_GATEWAY, "streamed.answer"),
        ),
        Feature.COMPLETIONS: (
            _test(
                "runtimes/native/test_openai_client.py::test_plain_completions_stream_and_answer"
            ),
            _run(_BEHIND_GATEWAY, "identical"),
        ),
        Feature.STRUCTURED_OUTPUT: (
            _test("engine/test_grammar.py::test_a_random_model_still_answers_with_the_schema"),
        ),
        Feature.CHUNKED_PREFILL: (
            _test("engine/test_adapters.py::test_pieces_and_preemption_change_no_adapted_answer"),
        ),
        Feature.TOOLS: (
            _test("runtimes/native/test_tools.py::test_a_forced_call_obeys_its_schema"),
        ),
        Feature.LOOKAHEAD: (
            _test("engine/test_drafts.py::test_greedy_answers_are_those_without_guesses"),
        ),
        Feature.ADAPTERS: (
            _test("engine/test_adapters.py::test_mixed_rows_answer_as_alone_and_as_peft"),
            _CUDA_TESTS,
        ),
        Feature.POOLING: (
            _test(
                "engine/pooling/test_families.py::test_vectors_are_those_of_sentence_transformers"
            ),
            _test(
                "engine/pooling/test_language_model_rerankers.py::"
                "test_pairs_are_scored_as_the_model_card_does_it"
            ),
            _CUDA_TESTS,
        ),
        **dict.fromkeys(
            (Feature.FP8_WEIGHTS, Feature.FP8_KV_CACHE, Feature.FP4_WEIGHTS),
            (
                _test(
                    "engine/test_quantized.py::"
                    "test_an_exported_model_answers_as_modelopts_own_simulation"
                ),
                _CUDA_TESTS,
            ),
        ),
        **dict.fromkeys(
            (Feature.INT4_WEIGHTS, Feature.INT4_WEIGHTS_FP8_INPUTS),
            (
                _test(
                    "engine/test_packed_integers.py::"
                    "test_an_artifact_of_packed_integers_answers_as_the_gate_measured_it"
                ),
            ),
        ),
        Feature.FP8_BLOCK_WEIGHTS: (
            _test("engine/test_block_scales.py::test_an_artifact_answers_as_its_numbers_say"),
        ),
        Feature.MIXED_WEIGHTS: (
            _test(
                "build_steps/test_bit_budgets.py::"
                "test_the_native_engine_answers_as_the_gate_measured_it"
            ),
        ),
        Feature.ACCELERATOR: (
            _test("runtimes/native/test_openai_client.py::test_chat_answers"),
            _run(_BEHIND_GATEWAY, "smoke_test.answer"),
        ),
        Feature.HOST_KV_CACHE: (
            _test("engine/test_slots.py::test_rows_never_overlap_and_everything_comes_back"),
        ),
    }
)
