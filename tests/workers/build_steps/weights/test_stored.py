"""What weight files say that they hold, by the names that a class has for it."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from controlplane.sources.safetensors_header import StoredTensor
from workers.build_steps.weights.stored import as_plain, stored_tensors


def write(path: Path, **shapes: tuple[int, ...]) -> None:
    save_file({name: np.zeros(shape, np.float16) for name, shape in shapes.items()}, path)


def stored(dtype: str, *shape: int) -> StoredTensor:
    return StoredTensor(dtype=dtype, shape=shape, begin=0, end=0)


def test_of_a_single_file_and_shards_the_single_file_is_the_model(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", a=(2, 3))
    write(tmp_path / "model-00001-of-00001.safetensors", b=(1,))
    assert {name: each.shape for name, each in stored_tensors(tmp_path).items()} == {"a": (2, 3)}


def test_a_shard_that_the_index_does_not_name_holds_nothing_of_the_model(tmp_path: Path) -> None:
    write(tmp_path / "model-00001-of-00002.safetensors", a=(2, 3))
    write(tmp_path / "model-00002-of-00002.safetensors", b=(1,))
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert set(stored_tensors(tmp_path)) == {"a"}


def test_packed_weights_stand_for_the_plain_ones_of_their_layer() -> None:
    plain = as_plain(
        {
            "a.qweight": stored("I32", 8, 64),
            "b.weight_packed": stored("I32", 64, 8),
            "c.weight": stored("U8", 64, 32),
            "c.weight_scale_2": stored("F32"),
            "experts.down_proj_blocks": stored("U8", 4, 64, 2, 16),
            "d.weight": stored("F8_E4M3", 64, 64),
        },
        is_quantized=True,
    )
    assert {name: (each.shape, each.is_packed) for name, each in plain.items()} == {
        "a.weight": ((8, 64), True),
        "b.weight": ((64, 8), True),
        "c.weight": ((64, 64), False),
        "c.weight_scale_2": ((), False),
        "experts.down_proj": ((4, 64, 2, 16), True),
        "d.weight": ((64, 64), False),
    }
    assert plain["a.weight"].stored_as == "a.qweight"
