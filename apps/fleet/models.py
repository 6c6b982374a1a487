"""What machines there are: nodes, their GPUs, who holds which GPU, and the gateways."""

from django.db import models

from apps.accounts.models import Team
from apps.rest.identifiers import new_id
from controlplane.domain.device_users import DeviceUser, held_by_nobody_shown, in_use_by
from controlplane.domain.facts.gpus import IDLE_BYTES
from controlplane.domain.skew import skew_words
from controlplane.stamps import StampField


class Node(models.Model):
    """A host with an agent. `boot_id` tells a rebooted host from one that fell silent."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    name = models.CharField(max_length=253, unique=True)
    address = models.CharField(max_length=253)
    """Where its engines are reached, and nowhere else."""
    lowest_engine_port = models.PositiveIntegerField(default=1024, db_default=1024)
    highest_engine_port = models.PositiveIntegerField(default=65535, db_default=65535)
    """Of the ports that its agent gives to engines; others are never asked."""
    boot_id = models.CharField(max_length=64, blank=True)
    credential_sha256 = models.CharField(max_length=64, unique=True)
    agent_version = models.CharField(max_length=32, blank=True)
    host_memory_bytes = models.BigIntegerField(default=0)
    facts = models.JSONField(default=dict)
    pool = models.CharField(max_length=64, default="default")
    """Of its GPUs that are assigned to none on their own."""
    labels = models.JSONField(default=dict, db_default={})
    """What admins say of it: name -> value, to find it by."""
    runtimes = models.JSONField(default=list, db_default=[])
    """Those that it is set up to start, as its agent said."""
    runtime_versions = models.JSONField(default=dict, db_default={})
    """Of those that it ran, as their engines told last: runtime -> version."""
    cordoned = models.BooleanField(default=False)
    draining_since = models.DateTimeField(null=True)
    """Since when replicas are moved off it; a node that drains is cordoned too."""
    enrolled_at = StampField(auto_now_add=True)
    last_heartbeat_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)
    """Since when it is out; its row stays for what it ran, and to tell its agent."""
    replicas_heard_at = models.DateTimeField(null=True)
    """When it last said how all of its replicas stand, and that was stored."""
    clock_ahead_seconds = models.IntegerField(default=0, db_default=0)
    """How far its clock is ahead of the database's, as it said last; 0 where that is no matter."""
    disk_free_bytes = models.BigIntegerField(null=True)
    """On the disk under its agent's folder, as it said last."""
    wanted_version = models.BigIntegerField(default=0)
    """Grows whenever what this node should run changes."""

    def __str__(self) -> str:
        return self.name

    @property
    def clock_words(self) -> str:
        """How far its clock is off, such as `40 days ahead`; empty where it is not."""
        return skew_words(self.clock_ahead_seconds)


class EnrollmentToken(models.Model):
    """A one-time ticket by which an agent or a gateway gets its credential."""

    token_sha256 = models.CharField(primary_key=True, max_length=64)
    created_at = StampField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.CharField(max_length=280, blank=True)
    """`node:<name>` or `gateway:<name>`, who alone may repeat a lost enrollment for a while."""

    def __str__(self) -> str:
        return f"enrollment token {self.token_sha256[:8]}"


class Device(models.Model):
    """One accelerator of a node; a CPU is a GPU kind too, shared by memory, not held whole."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="devices")
    index = models.PositiveSmallIntegerField()
    """Its slot when it was last seen; not unique, since an absent GPU may have left its slot."""
    uuid = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=32)
    name = models.CharField(max_length=128, blank=True)
    memory_bytes = models.BigIntegerField()
    used_bytes = models.BigIntegerField(null=True)
    utilization_percent = models.FloatField(null=True)
    power_watts = models.FloatField(null=True)
    """What it drew when it was last looked at; None where it does not tell."""
    computes_bfloat16 = models.BooleanField(default=False, db_default=False)
    """Of a CPU: whether its processor does so by itself; of a GPU its kind tells."""
    is_clean = models.BooleanField(default=True)
    """Whether its node saw nobody else's process on it."""
    used_by = models.JSONField(default=list, db_default=[])
    """Who is on it, ours or not, each as `DeviceUser` writes itself."""
    is_present = models.BooleanField(default=True)
    pool = models.CharField(max_length=64, blank=True, default="", db_default="")
    """Where it is assigned to; empty for the pool of its node."""

    def __str__(self) -> str:
        return f"{self.kind} {self.index} of {self.node_id}"

    @property
    def is_shared(self) -> bool:
        """Whether several holders may use the GPU at once, each with its own memory."""
        return self.kind == "CPU"

    @property
    def users(self) -> list[DeviceUser]:
        return [DeviceUser.from_json(each) for each in self.used_by]

    @property
    def others(self) -> str:
        """Return who or what is on the GPU while nobody here has a claim on it; empty if nobody.

        What its node saw last: a claim that has just ended may still be seen for seconds.
        """
        if self.users:
            return in_use_by(f"GPU {self.index}", self.users)
        if not self.is_clean:
            return f"GPU {self.index} does not tell who is on it."
        is_held = not self.is_shared and (self.used_bytes or 0) > IDLE_BYTES
        return held_by_nobody_shown(f"GPU {self.index}", self.used_bytes or 0) if is_held else ""


class PoolTeam(models.Model):
    """That a pool serves a team. A pool without any serves every team."""

    id = models.BigAutoField(primary_key=True)
    pool = models.CharField(max_length=64)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "team"], name="fleet_pool_team_once")
        ]

    def __str__(self) -> str:
        return f"{self.pool} for {self.team_id}"


class DevicePrice(models.Model):
    """What an hour of one GPU of a kind costs from then on; earlier rows are its history."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=32)
    per_hour = models.DecimalField(max_digits=12, decimal_places=4)
    since = models.DateTimeField()
    """A full hour: the one in which the price was set."""
    set_by = models.CharField(max_length=300, blank=True)
    set_at = StampField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["kind", "-since", "-id"], name="fleet_price_by_kind")]

    def __str__(self) -> str:
        return self.kind


class DeviceLease(models.Model):
    """A claim on (part of) a GPU, with a fencing token that grows with every new claim."""

    id = models.BigAutoField(primary_key=True)
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="leases")
    holder = models.CharField(max_length=64)
    """`build:<id>` or `replica:<id>`: a plain name, since builds and deployments lie above."""
    memory_bytes = models.BigIntegerField()
    claimed_at = StampField(auto_now_add=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["device"],
                condition=models.Q(released_at=None),
                name="fleet_live_lease_by_device",
            ),
            models.Index(fields=["holder"], name="fleet_lease_by_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.holder} on {self.device_id}"


class Gateway(models.Model):
    """One gateway process; it counts as live while it polls."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    name = models.CharField(max_length=253, unique=True)
    address = models.CharField(max_length=253, blank=True)
    credential_sha256 = models.CharField(max_length=64, unique=True)
    applied_version = models.BigIntegerField(default=0)
    enrolled_at = StampField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True)
    clock_ahead_seconds = models.IntegerField(default=0, db_default=0)
    disk_free_bytes = models.BigIntegerField(null=True)
    """Both as of a node."""

    def __str__(self) -> str:
        return self.name


class Worker(models.Model):
    """One process of Celery, the scheduler included; it counts as live while it says so."""

    name = models.CharField(primary_key=True, max_length=300)
    """`<what it does>@<host>`, such as `build.default@gpu-01`."""
    version = models.CharField(max_length=32)
    started_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def work(self) -> str:
        """What it does: `control`, `build.<pool>` or `scheduler`."""
        return self.name.partition("@")[0]


class Listening(models.Model):
    """One row: since when someone listens to the machines, and who counts as silent by that."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    since = models.DateTimeField()
    """The first beat after the last gap, or after a time in which no machine was heard."""
    unbroken_since = models.DateTimeField(null=True)
    """The first beat after the last gap alone: since when the database could be asked."""
    last_beat_at = models.DateTimeField()
    silent_before = models.DateTimeField(null=True)
    """Who was not heard after it was silent while it was listened for long enough."""

    def __str__(self) -> str:
        return f"since {self.since}"
