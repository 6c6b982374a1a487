"""Transformers in a process of its own: `static`, or `continuous`, which is its own batcher.

Run as `python transformers_side.py KIND FOLDER THREADS ROWS DTYPE`; a line of requests in, `done`
out.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import transformers

PAGE_TOKENS, PAGES, STEP_TOKENS = 32, 256, 512
Answer = Callable[[list[dict[str, Any]]], None]


def main() -> None:
    """Answer lines of requests until there are none."""
    kind, folder, threads, rows, dtype = sys.argv[1:]
    torch.set_num_threads(int(threads))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    model.generation_config.eos_token_id = None
    with {"static": static, "continuous": continuous}[kind](model, int(rows)) as answer:
        print("ready", flush=True)
        for line in sys.stdin:
            answer(json.loads(line))
            print("done", flush=True)


@contextmanager
def static(model: Any, rows: int) -> Iterator[Answer]:
    """Give what runs `generate` on left-padded batches, in order of arrival."""

    def batch(requests: list[dict[str, Any]]) -> None:
        width = max(len(each["prompt"]) for each in requests)
        pads = [width - len(each["prompt"]) for each in requests]
        model.generate(
            torch.tensor([[0] * pad + each["prompt"] for pad, each in zip(pads, requests)]),  # noqa: B905
            attention_mask=torch.tensor([[0] * pad + [1] * (width - pad) for pad in pads]),
            do_sample=False,
            pad_token_id=0,
            max_new_tokens=max(each["max_tokens"] for each in requests),
        )

    def answer(requests: list[dict[str, Any]]) -> None:
        for first in range(0, len(requests), rows):
            batch(requests[first : first + rows])

    yield answer


@contextmanager
def continuous(model: Any, rows: int) -> Iterator[Answer]:
    """Give what hands all requests to the batcher at once and waits for every one of them."""
    model.generation_config.do_sample = False
    # What it would infer is 60 % of the machine's memory.
    config = transformers.ContinuousBatchingConfig(
        page_size=PAGE_TOKENS, num_blocks=PAGES, max_batch_tokens=STEP_TOKENS,
        max_requests_per_batch=rows,
    )  # fmt: skip
    with model.continuous_batching_context_manager(continuous_batching_config=config) as manager:

        def answer(requests: list[dict[str, Any]]) -> None:
            table = {
                manager.add_request(each["prompt"], max_new_tokens=each["max_tokens"]): each
                for each in requests
            }
            while table:
                outcome = manager.get_result(timeout=1)
                if outcome is None and not manager.is_running():
                    raise RuntimeError("the batcher's thread has ended")
                if outcome is not None and outcome.is_finished():
                    _check(outcome, table.pop(outcome.request_id))

        yield answer


def _check(found: Any, asked: dict[str, Any]) -> None:
    if found.error or len(found.generated_tokens) != asked["max_tokens"]:
        raise RuntimeError(
            f"asked for {asked['max_tokens']} tokens, got {len(found.generated_tokens)}"
            f" ({found.error})"
        )


if __name__ == "__main__":
    main()
