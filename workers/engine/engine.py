"""The engine as a whole: a loaded checkpoint that answers requests."""

import logging
import os
import platform
import random
from functools import partial
from typing import Any

import llguidance
import torch
import transformers

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.memory.native_limits import DECODER_STEP_TOKENS
from workers.engine.adapters import read_adapter
from workers.engine.deltas import AdapterDeltas
from workers.engine.drafts import Drafter
from workers.engine.errors import CheckpointRefused
from workers.engine.generation import Generation
from workers.engine.grammar import Grammars
from workers.engine.kv_cache import SlotCache
from workers.engine.loader import LoadedModel, choose_dtype, find_model_class, load_model
from workers.engine.loop import EngineLoop
from workers.engine.metrics import EngineMetrics
from workers.engine.model_thread import ModelThread
from workers.engine.runner import ModelRunner, Segment
from workers.engine.scheduler import Scheduler
from workers.engine.sequence import Sequence
from workers.engine.settings import EngineSettings
from workers.engine.tokenizer import TextCodec

log = logging.getLogger(__name__)

WARM_UP_TOKENS = 8

PLAN_TOLERANCE = 0.01
"""Share by which the KV cache may differ from its plan before the log says so."""


class Engine:
    """Loads at once; answers between `start` and `stop`."""

    def __init__(self, settings: EngineSettings, *, clock: Clock = SYSTEM) -> None:
        self.settings = settings
        self._clock = clock
        self.adapter_names = tuple(settings.adapters)
        self._model_class = find_model_class(settings.model_dir)
        self.codec = TextCodec(settings.model_dir)
        self._thread = ModelThread()
        self._model = model = self._thread.load(self._load)
        self.vocabulary_size = model.vocabulary_size
        self._end_tokens = model.end_tokens | self.codec.end_tokens
        self.grammars = Grammars(
            self.codec.backend, vocabulary=model.vocabulary_size, end_tokens=self._end_tokens
        )
        device = torch.device(settings.device)
        slots = _slots(settings, model)
        self._cache = SlotCache(model.shape, slots=slots, device=device, scales=model.cache_scales)
        self.max_seq_len = min(model.max_positions, slots, settings.total_token_limit)
        self.step_tokens = min(settings.max_num_tokens, DECODER_STEP_TOKENS)
        self.metrics = EngineMetrics()
        # Who goes without drafts is no secret.
        self._lots = random.Random(0)  # nosec B311
        runner = ModelRunner(model.module, self._cache, self._deltas, device, model.long_rope)
        self._runner = runner
        self._scheduler = Scheduler(self._cache, settings, self.step_tokens, self.metrics)
        self._loop = EngineLoop(self._scheduler, runner, self.metrics)
        self._publish_gauges()

    @property
    def is_alive(self) -> bool:
        """Whether the model thread still takes requests."""
        return self._thread.is_running

    def start(self) -> None:
        """Run the model once, so that the first request finds it warm, then take requests."""
        self._compare_with_plan()
        self._thread.call(self._warm_up).result()
        self._thread.run(self._loop.run)

    def stop(self) -> None:
        """End the loop after its current step; whoever still waits gets nothing more."""
        self._loop.stop()
        self._thread.stop()

    def submit(self, generation: Generation) -> Sequence:
        """Queue a request and give back its handle. Raises: `QueueFull`."""
        special = generation.sampling.shows_special_tokens
        long_rope = self._model.long_rope
        sequence = Sequence(
            generation, end_tokens=self._end_tokens,
            decode=partial(self.codec.decode, shows_special=special),
            drafter=self._drafter(),
            rope_border=None if long_rope is None else long_rope.border, clock=self._clock,
        )  # fmt: skip
        self._scheduler.submit(sequence)
        return sequence

    def _drafter(self) -> Drafter | None:
        """Begin the drafter of a request, unless it is one of those that go without."""
        make_drafter, share = self.settings.make_drafter, self.settings.undrafted_share
        if make_drafter is None or (share and self._lots.random() < share):
            return None
        return make_drafter()

    def report(self) -> dict[str, Any]:
        """Give back what was really allocated, for comparison with the plan."""
        shape = self._cache.shape
        return {
            "weights_bytes": self._model.weights_bytes,
            "kv_cache_bytes": self._cache.size_bytes,
            "kv_cache_planned_bytes": self.settings.kv_cache_bytes,
            "kv_tokens": self._cache.slots,
            "dtype": str(shape.dtype).removeprefix("torch."),
            "device": self.settings.device,
            "threads": self.settings.threads,
            "max_batch_size": self.settings.max_batch_size,
            "max_seq_len": self.max_seq_len,
            "step_tokens": self.step_tokens,
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "llguidance": llguidance.__version__,
            },
            "adapters": {"names": list(self.adapter_names), "bytes": self._deltas.bytes},
            "emulated": list(self._model.emulated),
            "pid": os.getpid(),
        }

    def _load(self) -> LoadedModel:
        torch.set_num_threads(self.settings.threads)
        dtype = choose_dtype(self.settings.dtype, self.settings.device)
        model = load_model(self._model_class, self.settings, dtype)
        adapters = [
            read_adapter(name, folder, model.module, max_rank=self.settings.max_adapter_rank)
            for name, folder in self.settings.adapters.items()
        ]
        self._deltas = AdapterDeltas(model.module, adapters, torch.device(self.settings.device))
        return model

    def _compare_with_plan(self) -> None:
        planned, real = self.settings.kv_cache_bytes, self._cache.size_bytes
        if abs(real - planned) > PLAN_TOLERANCE * planned:
            log.warning("the KV cache takes %d bytes where the plan gave it %d", real, planned)

    def _warm_up(self) -> None:
        if self.settings.make_drafter is not None:
            self.settings.make_drafter().propose([0, 0], 1)  # compiles, before anyone waits for it
        row = self._cache.reserve(WARM_UP_TOKENS + 1)
        if row is not None:
            self._runner.forward([Segment(row, [0] * WARM_UP_TOKENS)])
            self._runner.forward([Segment(row, [0])])
            self._cache.release(row)

    def _publish_gauges(self) -> None:
        metrics, scheduler = self.metrics, self._scheduler
        metrics.running.set_function(lambda: len(scheduler.running))
        metrics.waiting.set_function(lambda: len(scheduler.waiting))
        metrics.cache_used.set_function(lambda: scheduler.used_ratio)
        metrics.cache_bytes.set(self._cache.size_bytes)
        metrics.cache_planned_bytes.set(self.settings.kv_cache_bytes)


def _slots(settings: EngineSettings, model: LoadedModel) -> int:
    slots = settings.kv_cache_bytes // model.shape.bytes_per_token
    if slots <= WARM_UP_TOKENS:
        raise CheckpointRefused(
            f"A KV cache of {settings.kv_cache_bytes} bytes holds {slots} tokens at "
            f"{model.shape.bytes_per_token} bytes each; give it room for one prompt."
        )
    return slots
