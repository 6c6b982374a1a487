import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.domain.spec.choices import RerankTemplate
from workers.engine.drafts import Drafter, MakeDrafter
from workers.engine.settings import EngineSettings, Policy

TASKS: Mapping[str, bool | None] = {"auto": None, "generate": False, "pool": True}


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the engine listens; port 0 lets the system choose."""

    host: str
    port: int


def parse(arguments: Sequence[str]) -> tuple[Address, EngineSettings]:
    """Give back where to listen and how to run; a wrong argument ends the process with 2."""
    options = _parser().parse_args(arguments)
    settings = EngineSettings(
        model_dir=options.model_dir.resolve(),
        served_model_name=options.served_model_name or options.model_dir.resolve().name,
        pools=TASKS[options.task],
        max_batch_size=options.max_batch_size,
        max_seq_len=options.max_seq_len,
        max_num_tokens=options.max_num_tokens,
        kv_cache_bytes=options.kv_cache_bytes,
        threads=options.threads,
        dtype=options.dtype,
        device=options.device,
        default_max_tokens=options.default_max_tokens,
        generic_tools=options.generic_tools,
        max_waiting_requests=options.max_waiting_requests,
        total_token_limit=options.total_token_limit,
        scheduler_policy=options.batch_scheduler_policy,
        make_drafter=_drafters(options),
        undrafted_share=options.undrafted_share,
        adapters=dict(options.adapter),
        max_adapter_rank=options.max_adapter_rank,
        rerank_template=options.rerank_template and RerankTemplate(options.rerank_template),
        max_client_batch_size=options.max_client_batch_size,
        max_concurrent_requests=options.max_concurrent_requests,
    )
    return Address(host=options.host, port=options.port), settings


def _drafters(options: argparse.Namespace) -> MakeDrafter | None:
    if options.lookahead_ngram_size is None:
        return None

    def begin() -> Drafter:
        # With numba, which takes a second: a wrong argument or a taken port answers before.
        from workers.runtimes.native.drafting import drafters

        return drafters(options.lookahead_ngram_size, options.draft_factor, options.device)()

    return begin


def _parser() -> argparse.ArgumentParser:
    defaults = EngineSettings(model_dir=Path(), served_model_name="")
    parser = argparse.ArgumentParser(
        prog="python -m workers.runtimes.native",
        description="Serve one checkpoint with an OpenAI-compatible API.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--model-dir", type=Path, required=True, help="Hugging Face checkpoint folder")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8080, help="0 takes a free one and prints it")
    add("--served-model-name", help="name in /v1/models; default: the folder's name")
    add("--task", choices=tuple(TASKS), default="auto", help="auto: as the checkpoint's files say")
    add("--max-batch-size", type=_positive, default=defaults.max_batch_size)
    add("--max-seq-len", type=_positive, help="default: what checkpoint and KV cache allow")
    add("--max-num-tokens", type=_positive, default=defaults.max_num_tokens)
    add("--kv-cache-bytes", type=_positive, default=defaults.kv_cache_bytes)
    add("--threads", type=_positive, default=defaults.threads)
    add("--dtype", choices=("auto", "float32", "bfloat16"), default=defaults.dtype)
    add("--device", default=defaults.device, help="cpu or cuda")
    add("--default-max-tokens", type=_positive, help="answer limit of a request that names none")
    add("--generic-tools", action="store_true", help="a tool prompt of ours where there is none")
    add("--max-waiting-requests", type=_positive, default=defaults.max_waiting_requests)
    add("--total-token-limit", type=_positive, default=defaults.total_token_limit)
    add("--batch-scheduler-policy", choices=tuple(Policy), default=defaults.scheduler_policy)
    add("--lookahead-ngram-size", type=_positive, help="guess so many tokens; default: none")
    add("--undrafted-share", type=float, default=0.0, help="requests answered without guesses")
    add("--draft-factor", type=_positive, default=1, help="guesses a match")
    add("--adapter", type=_adapter, action="append", default=[], metavar="NAME=DIR")
    add("--max-adapter-rank", type=_positive, help="refuse an adapter of a higher rank")
    add("--rerank-template", choices=tuple(RerankTemplate), help="ask a language model to rank")
    for flag, default in (
        ("--max-client-batch-size", defaults.max_client_batch_size),
        ("--max-concurrent-requests", defaults.max_concurrent_requests),
    ):
        add(flag, type=_positive, default=default, help="of an engine that pools")
    return parser


def _adapter(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=DIR")
    return name, Path(folder).resolve()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number
