from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine

NO_ROOTS = configuration(
    "EHL-OUTSIDE-ROOTS",
    "`{path}` cannot be used: no folder is open to `LOCAL` checkpoints.",
    "Ask the operator to set LOCAL_CHECKPOINT_ROOTS to the folder that holds it.",
    field=fields.REPO,
)
OUTSIDE_ROOTS = configuration(
    "EHL-OUTSIDE-ROOTS",
    "`{path}` lies outside the folders open to `LOCAL` checkpoints ({roots}).",
    "Move the checkpoint into one of them, or ask the operator to add its folder to "
    "LOCAL_CHECKPOINT_ROOTS. Links are followed before this is checked.",
    field=fields.REPO,
)
MISSING = configuration(
    "EHL-MISSING",
    "There is no folder `{path}` {where}.",
    "Check the path as the build worker sees it: every build worker must mount it.",
    field=fields.REPO,
)
UNREADABLE = machine(
    "EHL-UNREADABLE",
    "`{path}` cannot be read: {reason}.",
    "Give the user of the build worker read permission on it.",
)
CHANGED_MEANWHILE = checkpoint(
    "EHL-CHANGED",
    "`{path}` changed while the build was reading it.",
    "Retry once nothing writes to the checkpoint's folder.",
    field=fields.REPO,
)
CHANGED_SINCE = checkpoint(
    "EHL-CHANGED",
    "`{repo}` has changed since it was checked: its files were `{commit}` and are `{found}`.",
    "Check the config again, then build.",
    field=fields.REPO,
)
