from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint

_HOW = "An admin of the organisation grants it for exactly this commit, on the page Remote code."

NOT_GRANTED = checkpoint(
    "EHQ-REMOTE-CODE",
    "{architecture} is defined by Python code inside the checkpoint, and nobody has granted it at "
    "commit `{short_commit}`: a build runs no code without that.",
    f"Use a checkpoint whose class Transformers has, or serve this one unquantized. {_HOW}",
    field=fields.REPO, fix={fields.QUANTIZATION: "no_quant"},
)  # fmt: skip
REVOKED = checkpoint(
    "EHQ-REMOTE-CODE",
    "{architecture} is defined by Python code inside the checkpoint. Its grant at commit "
    "`{short_commit}` was revoked by {revoked_by} on {day}: {reason}",
    f"Use a checkpoint whose class Transformers has. {_HOW}",
    field=fields.REPO,
)
MOVED = checkpoint(
    "EHQ-REMOTE-CODE-MOVED",
    "{architecture} is defined by Python code inside the checkpoint, which is granted at "
    "{granted}; this build fetched commit `{short_commit}` and runs none of it.",
    "Pin `revision` to the granted commit, or have `{commit}` granted. " + _HOW,
    field=fields.REVISION,
)
NEVER_RUN = checkpoint(
    "EHQ-REMOTE-CODE-NATIVE",
    "`{architecture}` is defined by Python code inside the checkpoint, and the native engine "
    "executes nothing from a checkpoint, whatever is granted.",
    "Serve it with vLLM: name an accelerator, or `enginehouse.runtime: vllm`.",
    field=fields.RUNTIME,
)
ELSEWHERE = checkpoint(
    "EHQ-REMOTE-CODE-ELSEWHERE",
    "The checkpoint takes its Python code from another repository, `{repo}`, and a grant covers "
    "the code of its own commit only.",
    "Copy that code into the checkpoint's own repository, and name it in `auto_map`.",
    field=fields.REPO,
)
BROKEN = checkpoint(
    "EHQ-REMOTE-CODE-BROKEN",
    "The checkpoint's own code broke while `{what}` was loaded: {error}.",
    "It may be written for another release of Transformers or need a package that is not installed "
    "here; the log has all that it said.",
    field=fields.REPO,
)
