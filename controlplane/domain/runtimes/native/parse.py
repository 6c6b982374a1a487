"""Command line of the native engine -> its settings."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from controlplane.domain.runtimes.native.render import CUDA, DTYPES
from controlplane.domain.runtimes.native.settings import EngineSettings
from controlplane.domain.spec.choices import BatchSchedulerPolicy


class ArgumentsError(ValueError):
    """The command line is not one that `render` writes; the text says why."""


def parse(arguments: Sequence[str]) -> EngineSettings:
    """Return the settings in the arguments after `-m workers.runtimes.native`.

    Raises `ArgumentsError`.
    """
    values = vars(_parser().parse_args(list(arguments)))
    adapters = tuple(values.pop("adapter"))
    return EngineSettings(pools=values.pop("task") == "pool", adapters=adapters, **values)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentsError(f"{message}. Flags: {', '.join(sorted(self._option_string_actions))}.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    for flag in ("--model-dir", "--host", "--served-model-name"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--port", required=True, type=_port)
    counts = ("--max-batch-size", "--max-seq-len", "--max-num-tokens", "--threads")
    for flag in counts:
        parser.add_argument(flag, required=True, type=_at_least_one)
    parser.add_argument("--kv-cache-bytes", default=0, type=_at_least_one)
    parser.add_argument("--default-max-tokens", type=_at_least_one)
    for flag in ("--total-token-limit", "--lookahead-ngram-size", "--draft-factor",
                 "--max-adapter-rank"):  # fmt: skip
        parser.add_argument(flag, type=_at_least_one)
    parser.add_argument("--undrafted-share", type=float)
    parser.add_argument("--batch-scheduler-policy", choices=tuple(BatchSchedulerPolicy))
    parser.add_argument("--adapter", type=_adapter, action="append", default=[])
    parser.add_argument("--generic-tools", action="store_true")
    parser.add_argument("--task", choices=("pool",))
    parser.add_argument("--dtype", required=True, choices=DTYPES)
    parser.add_argument("--device", choices=(CUDA,))
    return parser


def _at_least_one(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is less than 1")
    return value


def _adapter(text: str) -> tuple[str, str]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=DIR")
    return name, folder


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError(f"`{text}` is not a port")
    return value
