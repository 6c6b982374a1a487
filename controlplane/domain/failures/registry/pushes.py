"""Pushes of artifacts to a hub repository or a bucket."""

from controlplane.domain.failures.kind import configuration, machine

_AGAIN = "Retry: what has arrived there is not sent again."

LOGIN = configuration(
    "EHU-LOGIN",
    "{place} does not accept the login in secret `{secret}` for `{destination}` ({reason}).",
    "Make a new token or key with write access, store it as the secret `{secret}`, and retry.",
)
DENIED = configuration(
    "EHU-DENIED",
    "{place} does not let the login in secret `{secret}` write to `{destination}` ({reason}).",
    "Give its owner write access there, or name a secret of someone who has it.",
)
NO_SECRET = configuration(
    "EHU-NO-SECRET",
    "The team has no secret `{secret}` any more, which was to open `{destination}`.",
    "Store a login with write access under that name, and retry.",
)
NO_TOKEN = configuration(
    "EHU-NO-TOKEN",
    "The secret `{secret}` holds no token: {reason}.",
    "Store the token itself, as {place}/settings/tokens shows it, and retry.",
)
NOT_FOUND = configuration(
    "EHU-NOT-FOUND",
    "{place} has nothing at `{destination}` that could be written to ({reason}).",
    "Check the spelling. A repository is made where it is missing; a branch or a bucket must be "
    "there.",
)
PUBLIC = configuration(
    "EHU-PUBLIC",
    "`{destination}` is public at {place}, and the push was to be private.",
    "Make the repository private there, or push again without `private`.",
)
FULL = configuration(
    "EHU-FULL",
    "{place} has no room left for `{destination}` ({reason}).",
    "Free storage there or raise its limit, then retry: what has arrived is not sent again.",
)
REGION = configuration(
    "EHU-REGION",
    "The bucket of `{destination}` lies in another region than {place} ({reason}).",
    "Set `aws_region` in the secret `{secret}` to the bucket's region.",
)
INCOMPLETE = machine(
    "EHU-INCOMPLETE",
    "{place} took the push, and `{file}` is not in `{destination}`.",
    "Look whether a `.gitignore` there leaves it out, then retry.",
)
RATE_LIMIT = machine(
    "EHU-RATE-LIMIT",
    "{place} allows no more requests for now ({reason}), asked for `{destination}`.",
    _AGAIN,
)
OFFLINE = machine(
    "EHU-OFFLINE",
    "{place} cannot be reached from this machine, or broke off, on the way to `{destination}`.",
    "Check the network and proxy of the build worker, then retry: what has arrived there is not "
    "sent again.",
)
UNAVAILABLE = machine(
    "EHU-UNAVAILABLE",
    "{place} could not take `{destination}` ({reason}).",
    _AGAIN,
)
CONTROL_PLANE = machine(
    "EHU-CONTROL-PLANE",
    "The secret of the push could not be had from the control plane.",
    "`{address}` must answer to build workers. Retry then.",
)
LOST = machine(
    "EHU-LOST",
    "The worker was lost {times} times while it pushed the artifact.",
    "Look at the build worker's log, then retry: what has arrived there is not sent again.",
)
