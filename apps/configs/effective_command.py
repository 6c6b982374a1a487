import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from apps.configs.models import Revision
from apps.configs.selectors import facts_known, offers_of_hosts
from controlplane.domain.commands.report import Changed, NotCarried
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.memory import UnplannableError
from controlplane.domain.runtimes import RUNTIMES, Launch, Start
from controlplane.domain.runtimes.capability import Feature
from controlplane.domain.runtimes.choice import choose_runtime, kind_of, with_runtime
from controlplane.domain.runtimes.requested_features import untested_features
from controlplane.domain.spec import Spec, parse_text
from controlplane.domain.spec.choices import Dtype

_MODEL_DIR, _HOST, _PORT = "/models/ARTIFACT", "127.0.0.1", 8000


@dataclass(frozen=True, kw_only=True)
class EffectiveCommand:
    runtime: str
    command: str
    files: Mapping[str, str]
    changed: tuple[Changed, ...]
    ignored_settings: tuple[NotCarried, ...]
    is_started_here: bool
    untested: tuple[str, ...] = ()
    """What it asks that we have not seen this runtime do on such a GPU."""
    device: str = ""
    """The kind asked for."""

    @property
    def untested_words(self) -> str:
        """What was not seen, as the page says it; empty where all was."""
        if not self.untested:
            return ""
        named = ", ".join(name for name in self.untested if name != Feature.ACCELERATOR)
        if Feature.ACCELERATOR not in self.untested:
            return f"Not yet seen to run by us on `{self.device}`: {named}."
        return f"Not yet run by us on `{self.device}`, so not seen there either: {named}."


def effective_command(revision: Revision) -> EffectiveCommand | None:
    """Return the command of a revision, or None where too little is known to write it."""
    spec = parse_text(revision.text).spec
    if spec is None:
        return None
    facts = facts_known(team=revision.config.team, checkpoint=spec.checkpoint)
    started = offers_of_hosts().runtimes(kind=kind_of(spec), pool=spec.pool)
    chosen = choose_runtime(spec, started or None, facts)
    spec = with_runtime(spec, chosen.runtime) if chosen else spec
    launch = _launch(spec, facts, in_half=_is_in_half(revision))
    if launch is None:
        return None
    return EffectiveCommand(
        runtime=RUNTIMES[spec.runtime_name].title,
        command=shlex.join(launch.argv),
        files=launch.files,
        changed=launch.changed,
        ignored_settings=launch.ignored_settings,
        is_started_here=spec.runtime_name in started,
        untested=untested_features(spec, facts),
        device=kind_of(spec),
    )


def _is_in_half(revision: Revision) -> bool:
    """Return whether the native engine computes in bfloat16, as the checks found on saving."""
    return any(
        value["field"] == "enginehouse.dtype" and value["effective"] == Dtype.BFLOAT16
        for value in revision.effective or ()
    )


def _launch(spec: Spec, facts: CheckpointFacts | None, *, in_half: bool) -> Launch | None:
    gpu = PLANNABLE_GPUS.get(spec.accelerator.kind) if spec.accelerator else None
    memory = gpu.memory_bytes if gpu and gpu.memory_bytes else spec.resources.memory_bytes
    start = Start(
        model_dir=_MODEL_DIR,
        host=_HOST,
        port=_PORT,
        python="python",
        threads=1,
        memory_bytes=memory,
        computes_bfloat16=in_half,
    )
    try:
        return RUNTIMES[spec.runtime_name].render(spec, facts or CheckpointFacts(), start)
    except (UnplannableError, ValueError):
        return None
