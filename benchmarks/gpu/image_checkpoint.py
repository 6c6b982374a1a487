"""A LLaVA of a few megabytes with random weights: it takes images, and its answers mean nothing.

Its processor is written as files: to make one takes Pillow and torchvision, which vLLM has alone.
"""

import json
import shutil
from pathlib import Path

_NOT_OF_THE_TOKENIZER = ("config.json", "generation_config.json", "model.safetensors")
_IMAGE = "<image>"
_PATCH, _SIDE = 14, 28
_PROCESSOR = {
    "preprocessor_config.json": {
        "crop_size": {"height": _SIDE, "width": _SIDE},
        "do_center_crop": True,
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_processor_type": "CLIPImageProcessor",
        "image_std": [0.26862954, 0.26130258, 0.27577711],
        "processor_class": "LlavaProcessor",
        "resample": 3,
        "rescale_factor": 1 / 255,
        "size": {"shortest_edge": _SIDE},
    },
    "processor_config.json": {
        "image_token": _IMAGE,
        "num_additional_image_tokens": 1,
        "patch_size": _PATCH,
        "processor_class": "LlavaProcessor",
        "vision_feature_select_strategy": "default",
    },
}


def make_image_checkpoint(folder: Path, tokenizer: Path) -> Path:
    """Fill `folder` with config, weights and processor, and another checkpoint's tokenizer."""
    from transformers import AutoTokenizer, LlavaConfig, LlavaForConditionalGeneration

    folder.mkdir(parents=True)
    for path in tokenizer.iterdir():
        if path.is_file() and path.name not in _NOT_OF_THE_TOKENIZER:
            shutil.copyfile(path, folder / path.name)
    words = AutoTokenizer.from_pretrained(folder)
    words.add_tokens([_IMAGE], special_tokens=True)
    config = LlavaConfig(
        text_config={
            "model_type": "llama", "hidden_size": 256, "intermediate_size": 512,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 64, "max_position_embeddings": 2048, "vocab_size": len(words) + 63,
            "bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id,
        },
        vision_config={
            "model_type": "clip_vision_model", "hidden_size": 128, "intermediate_size": 256,
            "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": _SIDE,
            "patch_size": _PATCH, "projection_dim": 128,
        },
        image_token_index=words.convert_tokens_to_ids(_IMAGE),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(_SIDE // _PATCH) ** 2,
    )  # fmt: skip
    LlavaForConditionalGeneration(config).bfloat16().save_pretrained(folder)
    words.save_pretrained(folder)
    for name, content in _PROCESSOR.items():
        (folder / name).write_text(json.dumps(content, indent=1))
    return folder
