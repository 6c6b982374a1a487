"""How an embedder makes one vector of many, and of how many: its sentence-transformers files."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts.config_numbers import Config

MODULES_FILE = "modules.json"
POOLING_FILE = "1_Pooling/config.json"
LENGTH_FILES = tuple(
    f"sentence_{model}_config.json"
    for model in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Where sentence-transformers keeps the length that it reads to; engines take the first of them."""
_MODES = {
    "pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last", "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weighted_mean",
}  # fmt: skip


class Pooling(BaseModel):
    """What the pooling files say."""

    model_config = ConfigDict(frozen=True)

    has_modules: bool = False
    has_pooling: bool = False
    modes: tuple[str, ...] = ()
    """`cls`, `mean`, `last`, …; several are concatenated."""
    names_mode: bool = False
    """The mode stands as a word, as newer sentence-transformers write it."""
    steps: tuple[str, ...] = ()
    """The modules that modules.json names, each with the package that it is of."""

    @property
    def ranks(self) -> bool:
        return "LogitScore" in self._kinds

    @property
    def keeps_tokens(self) -> bool:
        """Whether a text stays a vector for each of its tokens: late interaction."""
        if not self._kinds:
            return False
        is_pylate = any(step.startswith("pylate.") for step in self.steps)
        return "MultiVectorMask" in self._kinds or (is_pylate and "Pooling" not in self._kinds)

    @property
    def _kinds(self) -> frozenset[str]:
        return frozenset(step.rpartition(".")[2] for step in self.steps)

    @property
    def missing(self) -> tuple[str, ...]:
        files = ((MODULES_FILE, self.has_modules), (POOLING_FILE, self.has_pooling))
        return tuple(name for name, present in files if not present)


def read_pooling(
    files: Sequence[str], pooling_config: Config | None, modules: object = None
) -> Pooling | None:
    pooling = Pooling(
        has_modules=MODULES_FILE in files,
        has_pooling=POOLING_FILE in files or bool(pooling_config),
        modes=_modes(pooling_config or {}),
        names_mode=isinstance((pooling_config or {}).get("pooling_mode"), str),
        steps=_steps(modules),
    )
    return pooling if pooling.has_modules or pooling.has_pooling else None


def _steps(modules: object) -> tuple[str, ...]:
    listed = modules if isinstance(modules, list) else []
    named = [each.get("type") for each in listed if isinstance(each, dict)]
    return tuple(step for step in named if isinstance(step, str))


def _modes(config: Config) -> tuple[str, ...]:
    named = config.get("pooling_mode")
    if isinstance(named, str) and named:
        return (named,)
    return tuple(mode for key, mode in _MODES.items() if config.get(key) is True)
