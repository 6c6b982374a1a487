"""A checkpoint in the shape of Qwen3-8B with random weights, written from its public config.

python -m benchmarks.gpu.random_checkpoint FOLDER TOKENIZER_FOLDER

Weights are pieces of one pool of normally distributed numbers: as random as a calibration needs,
and as fast to make as the disk takes them. Tokenizer and ids of the ends are the other folder's.
"""

import json
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    Stored = Callable[[dict[str, torch.Tensor]], Iterable[tuple[str, torch.Tensor]]]

FOLDER, FP8_FOLDER = "qwen3-8b-random", "qwen3-8b-random-fp8"
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "initializer_range": 0.02,
    "intermediate_size": 12288,
    "max_position_embeddings": 40960,
    "max_window_layers": 36,
    "model_type": "qwen3",
    "num_attention_heads": 32,
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
} | json.loads(os.environ.get("LARGE_CONFIG", "{}"))
_LAYERS_A_FILE = 6
_POOL = 2**27
_NOT_OF_THE_MODEL = ("config.json", "generation_config.json", "model.safetensors")


def main() -> None:
    """Write it in 16 bits."""
    write(Path(sys.argv[1]), Path(sys.argv[2]), lambda tensors: tensors.items())


def write(folder: Path, tokenizer: Path, stored: "Stored") -> None:
    """Write shards of some layers each, then the index, the tokenizer, and last the config.

    `stored` makes of a shard's tensors those that its file holds.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    pool = _pool()
    places: dict[str, str] = {}
    total = 0
    for number, shapes in enumerate(_files()):
        name = f"model-{number + 1:05d}.safetensors"
        tensors = dict(stored({each: _tensor(pool, each, shape) for each, shape in shapes.items()}))
        save_file(tensors, folder / name, {"format": "pt"})
        places |= dict.fromkeys(tensors, name)
        total += sum(each.nbytes for each in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for path in tokenizer.iterdir():
        if path.name not in _NOT_OF_THE_MODEL:
            shutil.copyfile(path, folder / path.name)
    ends = json.loads((tokenizer / "config.json").read_text())
    own = {name: ends[name] for name in ("bos_token_id", "eos_token_id") if name in ends}
    (folder / "config.json").write_text(json.dumps(CONFIG | own, indent=1))


def _pool() -> "torch.Tensor":
    import torch

    return torch.randn(_POOL, generator=torch.Generator().manual_seed(0)).mul_(0.02).bfloat16()


def _tensor(pool: "torch.Tensor", name: str, shape: tuple[int, ...]) -> "torch.Tensor":
    import torch

    if len(shape) == 1:
        return torch.ones(shape, dtype=torch.bfloat16)
    size = shape[0] * shape[1]
    first = zlib.crc32(name.encode()) % (_POOL // 2)
    whole = torch.empty(size, dtype=torch.bfloat16)
    place = 0
    while place < size:
        piece = pool[first : first + size - place]
        whole[place : place + len(piece)] = piece
        place, first = place + len(piece), 0
    return whole.view(shape)


def _files() -> Iterator[dict[str, tuple[int, ...]]]:
    size, vocabulary = int(str(CONFIG["hidden_size"])), int(str(CONFIG["vocab_size"]))
    yield {"model.embed_tokens.weight": (vocabulary, size)}
    layers = range(int(str(CONFIG["num_hidden_layers"])))
    for first in layers[::_LAYERS_A_FILE]:
        group = layers[first : first + _LAYERS_A_FILE]
        yield {name: shape for layer in group for name, shape in _layer(layer, size)}
    yield {"model.norm.weight": (size,), "lm_head.weight": (vocabulary, size)}


def _layer(number: int, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    head, inner = int(str(CONFIG["head_dim"])), int(str(CONFIG["intermediate_size"]))
    queries = head * int(str(CONFIG["num_attention_heads"]))
    keys = head * int(str(CONFIG["num_key_value_heads"]))
    shapes: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (size,),
        "post_attention_layernorm.weight": (size,),
        "self_attn.q_proj.weight": (queries, size),
        "self_attn.k_proj.weight": (keys, size),
        "self_attn.v_proj.weight": (keys, size),
        "self_attn.o_proj.weight": (size, queries),
        "self_attn.q_norm.weight": (head,),
        "self_attn.k_norm.weight": (head,),
        "mlp.gate_proj.weight": (inner, size),
        "mlp.up_proj.weight": (inner, size),
        "mlp.down_proj.weight": (size, inner),
    }
    for name, shape in shapes.items():
        yield f"model.layers.{number}.{name}", shape


if __name__ == "__main__":
    main()
