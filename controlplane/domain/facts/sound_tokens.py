"""Tokens that stand for sound: what a text-to-speech model on a language model's class answers in.

Source: what is published of the tokens of Orpheus (`<custom_token_0>`), OuteTTS and Llasa
(`<|s_0|>`), Spark-TTS (`<|bicodec_semantic_0|>`) and their kind, and public programs that look for
them, looked at 2026-11-30; the tokenizers' own files were not read.
"""

import re
from collections.abc import Mapping

from controlplane.domain.facts.config_numbers import Config

_SOUND = re.compile(r"<\|?(custom_token|audio|speech|snac|bicodec_\w+|[sc]\d*)_\d+\|?>")


def count_sound_tokens(tokenizer_config: Config) -> int | None:
    added = tokenizer_config.get("added_tokens_decoder")
    tokens = added.values() if isinstance(added, Mapping) else ()
    texts = (str(token.get("content")) for token in tokens if isinstance(token, Mapping))
    return sum(_SOUND.fullmatch(text) is not None for text in texts) or None
