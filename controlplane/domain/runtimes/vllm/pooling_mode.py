"""How an embedder makes one vector of many, said to vLLM where it does not read it itself.

Newer sentence-transformers write `pooling_mode: "mean"`; vLLM 0.25.1 looks for a switch a mode,
finds none and takes the class's own, which for BERT is the first token's vector: cosines of 0.84 to
what the model was made for. Seen on an H200, 2026-11-30.
"""

import json
from collections.abc import Mapping

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes.vllm.own_arguments import own_arguments

_ARGUMENT = "pooler-config"
_TYPES: Mapping[str, str] = {"cls": "CLS", "mean": "MEAN", "lasttoken": "LAST", "last": "LAST"}
_OF_SCORES = "/predict"


def say_pooling_mode(line: CommandWriter, checkpoint: CheckpointFacts) -> None:
    """Add the mode that a checkpoint names by a word, unless the config says another."""
    pooling, spec = checkpoint.pooling, line.spec
    if not spec.base_model.is_encoder or pooling is None or not pooling.names_mode:
        return
    kind = _TYPES.get(pooling.modes[0])
    scores = getattr(spec.trt_llm.runtime, "webserver_default_route", None) == _OF_SCORES
    if kind and not scores and _ARGUMENT not in own_arguments(spec):
        line.words += [f"--{_ARGUMENT}", json.dumps({"pooling_type": kind})]
