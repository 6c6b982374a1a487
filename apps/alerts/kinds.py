"""What can be wrong: every kind of alert, with the words that pages, docs and messages use."""

from dataclasses import dataclass

from controlplane.domain.alert_kinds import AlertKindName


@dataclass(frozen=True, kw_only=True)
class AlertKind:
    name: AlertKindName
    label: str
    when: str
    """When it fires, in a sentence."""
    of_installation: bool = False
    """Whether it is about what all teams share."""


_N = AlertKindName
ALERT_KINDS = (
    AlertKind(
        name=_N.DEPLOYMENT_DOWN,
        label="Deployment down",
        when="No replica of a deployment that should serve is ready, or it failed to start.",
    ),
    AlertKind(
        name=_N.DEPLOYMENT_SHORT,
        label="Deployment short of replicas",
        when="An active deployment has fewer ready replicas than wanted.",
    ),
    AlertKind(
        name=_N.ERROR_SHARE,
        label="Error share",
        when="Of the requests of the last 5 minutes (at least 20), a larger share than the team's "
        "limit was answered 5xx.",
    ),
    AlertKind(
        name=_N.FIRST_TOKEN,
        label="Slow first token",
        when="The p90 of the time to the first byte of the last 5 minutes (at least 20 requests) "
        "is above the team's limit.",
    ),
    AlertKind(
        name=_N.KV_CACHE_FULL,
        label="KV cache full",
        when="An engine has 95 % of its KV cache in use, and requests wait in it.",
    ),
    AlertKind(
        name=_N.GPU_MEMORY,
        label="GPU memory nearly full",
        when="A GPU that a replica serves on has less than 2 % of its memory left.",
    ),
    AlertKind(
        name=_N.LOOKAHEAD_HURTS,
        label="Lookahead hurts",
        when="Answers of the last hour came more than 5 % slower with lookahead than those of the "
        "deployment's held-out share without it (at least 2,000 tokens of each).",
    ),
    AlertKind(
        name=_N.BUILD_FAILED,
        label="Build failed",
        when="The last build of a config has failed. It resolves when that build is retried or "
        "another one is made, or after 30 days.",
    ),
    AlertKind(
        name=_N.BUILD_WAITING,
        label="Build without a worker",
        when="A build waits for 5 minutes and no build worker is alive.",
    ),
    AlertKind(
        name=_N.SECRET_EXPIRY,
        label="Secret expires",
        when="A secret has expired, or will within 14 days.",
    ),
    AlertKind(
        name=_N.SPEND_LIMIT,
        label="Spend limit reached",
        when="An API key has used up its month's money, and is answered 402.",
    ),
    AlertKind(
        name=_N.BUDGET,
        label="Budget",
        when="The team's GPUs have cost 80 % of its monthly budget (critical: all of it).",
    ),
    AlertKind(
        name=_N.NODE_SILENT,
        label="Node silent",
        when="A node has not reported for 15 seconds in which the control plane listened.",
        of_installation=True,
    ),
    AlertKind(
        name=_N.DEVICE_MEMORY,
        label="GPU memory in use by others",
        when="A process that Enginehouse did not start holds memory of a GPU.",
        of_installation=True,
    ),
    AlertKind(
        name=_N.DISK_FULL,
        label="Disk full",
        when="A disk of the control plane, a node or a gateway has less than 256 MiB left.",
        of_installation=True,
    ),
    AlertKind(
        name=_N.ARTIFACT_STORE,
        label="Artifact store unusable",
        when="The control worker's last look at the artifact store failed.",
        of_installation=True,
    ),
    AlertKind(
        name=_N.DATABASE_FULL,
        label="Database full",
        when="The database's disk refused a write.",
        of_installation=True,
    ),
    AlertKind(
        name=_N.CLOCK_APART,
        label="Clock wrong",
        when="The clock of a node or gateway differs from the database's.",
        of_installation=True,
    ),
)
LABELS = {str(each.name): each.label for each in ALERT_KINDS}
