"""The pooling engine as a whole: a loaded checkpoint that answers with vectors and scores."""

import os
import platform
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.memory.native_limits import encoder_step_tokens
from workers.engine.errors import CheckpointRefused
from workers.engine.model_thread import ModelThread
from workers.engine.pooling.batching import Buckets
from workers.engine.pooling.encoding import Encoder
from workers.engine.pooling.loader import LoadedEncoder, load_encoder
from workers.engine.pooling.loop import PoolingLoop
from workers.engine.pooling.metrics import PoolingMetrics
from workers.engine.pooling.packed.runner import PackedRunner, can_pack
from workers.engine.pooling.rows import Request, Row
from workers.engine.pooling.runner import PaddedRunner, Runner
from workers.engine.pooling.step_time import seconds_of, tokens_in_time
from workers.engine.pooling.turns import Turns
from workers.engine.settings import EngineSettings
from workers.engine.task import Task
from workers.engine.tokenizer import load_tokenizer


class PoolingEngine:
    """Loads at once; answers between `start` and `stop`."""

    adapter_names: tuple[str, ...] = ()
    """Vectors and scores are made without adapters."""

    def __init__(self, settings: EngineSettings, *, clock: Clock = SYSTEM) -> None:
        self.settings = settings
        self.metrics = PoolingMetrics()
        self._thread = ModelThread()
        self.model, tokenizer = self._thread.load(self._load)
        self.encoder = Encoder(
            tokenizer, max_length=self._max_length(tokenizer),
            max_texts=settings.max_client_batch_size, template=self.model.template,
            keeps_places=self.model.task is Task.LABEL_TOKENS,
        )  # fmt: skip
        self._clock = clock
        self.forward_tokens = self._most_tokens()
        self._runner = self._thread.load(self._make_runner)
        waiting = Buckets if self._runner.pads else Turns
        self._rows = waiting(max_rows=settings.max_batch_size, max_tokens=self.forward_tokens)
        self._loop = PoolingLoop(
            self._runner,
            self._rows,
            self.metrics,
            max_requests=settings.max_concurrent_requests,
            clock=clock,
        )

    @property
    def max_seq_len(self) -> int:
        """Tokens of the longest text; what is longer is cut."""
        return self.encoder.max_length

    @property
    def is_alive(self) -> bool:
        """Whether the model thread still takes requests."""
        return self._thread.is_running

    def start(self) -> None:
        """Run the model once, so that the first request finds it warm, then take requests."""
        self._thread.call(self._warm_up).result()
        self._thread.run(self._loop.run)

    def stop(self) -> None:
        """End the loop after its current forward; whoever still waits gets nothing more."""
        self._loop.stop()
        self._thread.stop()

    def submit(self, rows: Sequence[Row]) -> Request:
        """Queue rows and give back their request. Raises: `QueueFull`."""
        return self._loop.submit(rows)

    def report(self) -> dict[str, Any]:
        """Give back what was really loaded, for comparison with the plan."""
        model, settings = self.model, self.settings
        return {
            "task": model.task.value,
            "pooling": model.sentence.words if model.sentence else None,
            "labels": list(model.labels),
            "weights_bytes": model.weights_bytes,
            "dtype": str(model.module.dtype).removeprefix("torch."),
            "device": settings.device,
            "threads": settings.threads,
            "max_batch_size": settings.max_batch_size,
            "max_seq_len": self.max_seq_len,
            "max_client_batch_size": settings.max_client_batch_size,
            "max_concurrent_requests": settings.max_concurrent_requests,
            "step_tokens": self.forward_tokens,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            },
            "emulated": list(model.emulated),
            "pid": os.getpid(),
            **self._client_information(),
        }

    def _client_information(self) -> dict[str, Any]:
        """What clients of Text Embeddings Inference look for, by its names.

        Source: its OpenAPI document, schema `Info`, version 1.8, read 2026-11-29.
        """
        model, settings = self.model, self.settings
        labels = {str(index): label for index, label in enumerate(model.labels)}
        kind = "reranker" if len(labels) == 1 else "classifier"
        by_label = {"id2label": labels, "label2id": {each: int(at) for at, each in labels.items()}}
        return {
            "model_id": settings.served_model_name,
            "model_dtype": str(model.module.dtype).removeprefix("torch."),
            "model_type": (
                {"embedding": {"pooling": model.sentence.words}}
                if model.sentence
                else {kind: by_label}
            ),
            "max_input_length": self.max_seq_len,
            "max_batch_tokens": self.forward_tokens,
            "max_batch_requests": settings.max_batch_size,
            "auto_truncate": True,
        }

    def _warm_up(self) -> None:
        self._runner.warm_up()
        if self._runner.overlaps:
            self._limit_forwards()

    def _limit_forwards(self) -> None:
        """Let forwards have as many tokens as a short while allows, by what one takes here."""
        most = self._most_tokens()
        taken = seconds_of(self._runner, most, self.max_seq_len, self._clock)
        self.forward_tokens = self._rows.max_tokens = tokens_in_time(most, taken)

    def _most_tokens(self) -> int:
        """Tokens of one forward at most, padding counted; a longer text goes alone.

        More is no faster on a CPU and only makes the others wait.
        """
        return min(self.settings.max_num_tokens, encoder_step_tokens(self.settings.device.upper()))

    def _load(self) -> tuple[LoadedEncoder, Any]:
        torch.set_num_threads(self.settings.threads)
        return load_encoder(self.settings), load_tokenizer(self.settings.model_dir)

    def _make_runner(self) -> Runner:
        model, device = self.model, torch.device(self.settings.device)
        if not can_pack(model):
            return PaddedRunner(model, device)
        return PackedRunner(model, device, max_tokens=self.forward_tokens)

    def _max_length(self, tokenizer: Any) -> int:
        sentence = self.model.sentence
        named = sentence.max_length if sentence else None
        limits = (
            self.model.max_positions,
            named or tokenizer.model_max_length,
            self.settings.max_num_tokens,
            self.settings.max_seq_len or self.model.max_positions,
        )
        least = int(min(limits))
        if least <= tokenizer.backend_tokenizer.num_special_tokens_to_add(is_pair=True):
            raise CheckpointRefused(f"A text may have {least} tokens, which holds no word.")
        return least
