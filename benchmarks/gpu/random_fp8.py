"""A checkpoint in the shape of Qwen3-8B with random weights in FP8, as ModelOpt exports them.

python -m benchmarks.gpu.random_fp8 FOLDER TOKENIZER_FOLDER

Written shard by shard: the 16 bits never take the disk.
"""

import json
import sys
from pathlib import Path

from benchmarks.gpu.random_checkpoint import write
from benchmarks.gpu.random_precisions import declare, quantized


def main() -> None:
    """Write it, the declaration last."""
    folder = Path(sys.argv[1])
    beside = folder.with_name(f"{folder.name}.writing")
    write(beside, Path(sys.argv[2]), quantized)
    index = json.loads((beside / "model.safetensors.index.json").read_text())
    declare(beside, index["weight_map"], kv=None)
    beside.rename(folder)


if __name__ == "__main__":
    main()
