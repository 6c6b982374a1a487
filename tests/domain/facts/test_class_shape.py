"""What a class says takes the place of what the tables do not know, and of nothing else."""

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.class_shape import ClassShape, refined, wants_its_class
from controlplane.domain.facts.layers import Mixer
from controlplane.domain.memory.kv_cache import kv_bytes_per_token
from controlplane.domain.rules.examples import LLAMA_8B

NEW = {
    "architectures": ["NeverSeenForCausalLM"], "model_type": "never_seen", "hidden_size": 1024,
    "num_hidden_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 2,
    "intermediate_size": 4096, "vocab_size": 1000,
}  # fmt: skip
SHAPE = ClassShape(
    parameters={"tables": 1_000_000, "attention": 2_000_000, "mlp": 3_000_000},
    numbers_a_token=12 * 256,
)


def test_only_what_the_tables_do_not_know_is_asked_of_the_class() -> None:
    assert not wants_its_class(LLAMA_8B)
    assert wants_its_class(checkpoints.read(NEW))
    assert not wants_its_class(checkpoints.read({**NEW, "auto_map": {"AutoConfig": "a.B"}}))


def test_parameters_and_cache_are_those_of_the_class() -> None:
    read = checkpoints.read(NEW)
    better = refined(read, SHAPE)
    assert better.parameters == 6_000_000
    assert better.counts is not None
    assert better.counts.mlp == 3_000_000
    assert better.unknown_kv_layers == 0
    assert kv_bytes_per_token(better, element_bytes=2) == 12 * 256 * 2
    assert [group.mixer for group in better.groups] == [Mixer.ATTENTION]
    assert not wants_its_class(better)


def test_what_the_headers_say_of_parameters_stands() -> None:
    read = checkpoints.read(NEW, parameters=5_999_000, weight_bytes=11_998_000)
    assert refined(read, SHAPE).parameters == 5_999_000


def test_a_class_that_could_not_be_asked_for_its_cache_leaves_the_range() -> None:
    read = checkpoints.read(NEW)
    silent = SHAPE.model_copy(update={"numbers_a_token": None})
    assert refined(read, silent).unknown_kv_layers == 12


def test_a_class_that_keeps_nothing_of_a_token_keeps_nothing() -> None:
    better = refined(checkpoints.read(NEW), SHAPE.model_copy(update={"numbers_a_token": 0}))
    assert kv_bytes_per_token(better, element_bytes=2) == 0
