"""EH808, EH83: checkpoints that bring Python of their own, and who lets it run."""

from datetime import date

from controlplane.domain.facts import sources
from controlplane.domain.facts.known_architectures import is_known_generator
from controlplane.domain.remote_code import short_commit
from controlplane.domain.rules.context import CodeGrant, Context
from controlplane.domain.rules.examples import Example, facts
from controlplane.domain.rules.rule import GPU_RUNTIMES, NATIVE, Rule, Severity, at
from controlplane.domain.spec.repository_forms import shown

_REPO = "trt_llm.build.checkpoint_repository.repo"
_REVISION = "trt_llm.build.checkpoint_repository.revision"
_RUNTIME = "enginehouse.runtime"
_SOURCE = sources.truss("checkpoint layout, no remote code")
_COMMIT = "c" * 40
_OWN = facts(
    architectures=["OwnForCausalLM"], auto_map={"AutoModelForCausalLM": "modeling.OwnForCausalLM"}
).model_copy(update={"commit": _COMMIT})
_KNOWN = facts(auto_map={"AutoModel": "modeling.Model"}).model_copy(update={"commit": _COMMIT})
_GRANT = CodeGrant(commit=_COMMIT, by="ada@example.com", on=date(2026, 11, 28))
_ON_GPU = {"resources.accelerator": "H100"}
_HOW = (
    "An admin of the organisation grants it on the page Remote code (`/remote-code/`), for exactly "
    "this commit."
)


def grant_of(c: Context) -> CodeGrant | None:
    grants = (each for each in c.known.code_grants if each.commit == c.checkpoint.commit)
    return next(grants, None)


def needs_remote_code(c: Context) -> bool:
    """Return whether no runtime knows the class, and the checkpoint brings it."""
    checkpoint = c.checkpoint
    return checkpoint.remote_code and not is_known_generator(checkpoint.architecture or "")


def _repo(c: Context) -> str:
    return shown(c.spec.checkpoint.repo) if c.spec.checkpoint else ""


def _at(c: Context) -> str:
    commit = c.checkpoint.commit
    return f" at commit `{short_commit(commit)}`" if commit else ""


def _granted_elsewhere(c: Context) -> str:
    commits = [f"`{short_commit(each.commit)}`" for each in c.known.code_grants]
    return f" Granted is {', '.join(commits)}, which does not count." if commits else ""


BRINGS_CODE = Rule(
    code="EH808",
    name="checkpoint-with-its-own-code",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: c.checkpoint.remote_code and not needs_remote_code(c) and grant_of(c) is None,
    message=lambda c: (
        f"`{_repo(c)}` brings Python code of its own, which is not executed; it serves if the "
        f"runtime knows `{c.checkpoint.model_type or c.checkpoint.architecture}` itself. Nobody "
        f"has granted the code{_at(c)}.{_granted_elsewhere(c)} {_HOW}"
    ),
    source=_SOURCE,
    bad=Example(checkpoint=_KNOWN),
    good=Example(),
)

NOT_GRANTED = Rule(
    code="EH830",
    name="own-code-that-nobody-granted",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_REPO, _REVISION),
    when=lambda c: needs_remote_code(c) and grant_of(c) is None,
    message=lambda c: (
        f"Only Python code inside `{_repo(c)}` can load `{c.checkpoint.architecture}`, and nobody "
        f"has granted it{_at(c)}: no build runs it.{_granted_elsewhere(c)} {_HOW}"
    ),
    source=_SOURCE,
    bad=Example(config=_ON_GPU, checkpoint=_OWN),
    good=Example(config=_ON_GPU, checkpoint=_OWN, code_grants=(_GRANT,)),
)

ON_NATIVE = Rule(
    code="EH831",
    name="own-code-on-the-native-engine",
    severity=Severity.ERROR,
    runtimes=NATIVE,
    needs=("checkpoint",),
    fields=at(_REPO, _RUNTIME),
    when=needs_remote_code,
    message=lambda c: (
        f"Only Python code inside `{_repo(c)}` can load `{c.checkpoint.architecture}`, and the "
        "native engine executes nothing from a checkpoint, whatever is granted. vLLM does, with a "
        "grant: name an accelerator, or `enginehouse.runtime: vllm`."
    ),
    source=sources.enginehouse("native engine, checkpoints"),
    bad=Example(checkpoint=_OWN, code_grants=(_GRANT,)),
    good=Example(config=_ON_GPU, checkpoint=_OWN, code_grants=(_GRANT,)),
)

GRANTED = Rule(
    code="EH832",
    name="own-code-granted",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_REPO, _REVISION),
    when=lambda c: c.checkpoint.remote_code and grant_of(c) is not None,
    message=lambda c: (
        f"`{_repo(c)}` may run its own Python code{_at(c)}: {_grant(c).by} granted it on "
        f"{_grant(c).on}. Builds and engines run it only where no class of Transformers will do."
    ),
    source=_SOURCE,
    bad=Example(config=_ON_GPU, checkpoint=_OWN, code_grants=(_GRANT,)),
    good=Example(config=_ON_GPU, checkpoint=_OWN),
)


def _grant(c: Context) -> CodeGrant:
    grant = grant_of(c)
    assert grant is not None
    return grant
