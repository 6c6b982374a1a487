import asyncio
import fcntl
import gc
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, cast

from controlplane.clock import SYSTEM, Clock
from controlplane.keepalive import Socket, probe_when_quiet
from controlplane.process_settings.wrong import WrongSetting
from controlplane.traces.exporting import Exporter
from workers.full_disk import free_bytes
from workers.gateway import nudge
from workers.gateway.async_calls import AsyncCalls
from workers.gateway.client_connection import ClientConnection
from workers.gateway.confirmation import Confirmation
from workers.gateway.control_plane import ControlPlaneAway, CredentialRefused, HttpControlPlane
from workers.gateway.gateway import Gateway
from workers.gateway.journal import Journal, Segment, close_interrupted
from workers.gateway.load_reports import LEAST_PAUSE_SECONDS, LoadReports
from workers.gateway.membership import Membership
from workers.gateway.metrics_together import KEEP_SECONDS, MetricsTogether
from workers.gateway.recorder import Recorder
from workers.gateway.routes_sync import RoutesSync
from workers.gateway.settings import Settings
from workers.gateway.shared_limits import SharedLimits
from workers.gateway.shipping import Shipper
from workers.gateway.spend.shared import SharedSpend
from workers.gateway.storage import Storage
from workers.gateway.tracing import Tracing
from workers.gateway.traffic_samples.reports import REPORT_SECONDS as SAMPLES_SECONDS
from workers.gateway.traffic_samples.reports import SampleReports
from workers.gateway.traffic_samples.sample_files import SampleFiles
from workers.gateway.traffic_samples.sampler import Sampler

log = logging.getLogger(__name__)
Work = Coroutine[Any, Any, None]
BACKLOG = 2048
LAST_WORDS_SECONDS = 0.1
RESTART_SECONDS = 1.0
SWEEP_SECONDS = 1.0


class Process:
    """Needs a running loop. Order of life: `stop_at_signals`, `serve`, then `stop`."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        *,
        spans: Exporter | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        interrupted = close_interrupted(storage.journal_directory)
        self._clock = clock
        self._settings = settings
        self._control_plane = HttpControlPlane(
            settings.control_plane_url,
            free_bytes=partial(free_bytes, storage.journal_directory),
            clock=clock,
        )
        self._shipper = Shipper(self._control_plane, clock=clock)
        for segment in interrupted:
            self._shipper.add(segment)
        self._journal = Journal(storage.journal_directory, clock=clock)
        self._recorder = Recorder(self._journal, self._shipper, clock=clock)
        self._gateway = Gateway(
            settings.bounds,
            self._recorder,
            clock=clock,
            key_time=self._control_plane.time.time,
            choice=settings.replica_choice,
            session_header=settings.session_header,
        )
        self._spans = spans
        if spans is not None:
            self._gateway.tracing = Tracing(spans, share=settings.traces_share, clock=clock)
        honour_seconds = settings.bounds.honour_routes_seconds
        self._confirmation = Confirmation(storage, honour_seconds=honour_seconds, clock=clock)
        self._membership = Membership(
            self._control_plane,
            storage,
            token=settings.enrollment_token or None,
            name=settings.node_name,
            address=settings.node_address,
        )
        self._routes = RoutesSync(
            self._control_plane,
            self._membership,
            storage,
            self._gateway.apply,
            confirmed=self._confirm,
            poll_seconds=settings.poll_seconds,
            differed=self._gateway.metrics.count_routes_differed,
            clock=clock,
        )
        self._gateway.async_calls = AsyncCalls(self._control_plane, self._membership, clock=clock)
        self._load_reports = LoadReports(
            self._control_plane, self._membership, self._gateway, clock=clock
        )
        self._gateway.limits.processes = self._gateway.spend.processes = settings.processes
        if settings.counts_dir is not None:
            self._gateway.metrics_together = MetricsTogether(
                settings.counts_dir, settings.process, self._gateway.metrics, clock=clock
            )
        files = SampleFiles(storage.samples_directory, clock=clock)
        self._gateway.sampler = Sampler(files)
        self._samples = SampleReports(
            self._control_plane,
            self._membership,
            files,
            lambda: self._gateway.routes.snapshot,
            clock=clock,
        )
        self._shared_limits: SharedLimits | None = None
        if settings.broker_url:
            self._shared_limits = SharedLimits(
                settings.broker_url, self._gateway.limits, clock=clock
            )
            self._shared_spend = SharedSpend(settings.broker_url, self._gateway.spend, clock=clock)
        self._stopping = asyncio.Event()

    def stop_at_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)

    def stop(self) -> None:
        self._stopping.set()

    async def serve(self, *listeners: socket.socket) -> None:
        """Serve on each until `stop`, then drain, and flush and ship the journal."""
        self._routes.load_from_disk()
        self._gateway.routes.hold = self._confirmation.look()
        self._go_on_counting()
        servers = [await self._listen_on(listener) for listener in listeners]
        _calm_the_collector()
        try:
            async with asyncio.TaskGroup() as tasks:
                background = [tasks.create_task(work) for work in self._background()]
                await self._stopping.wait()
                for server in servers:
                    server.close()
                await self._drain()
                for task in background:
                    task.cancel()
        finally:
            await self._close()

    async def _listen_on(self, listener: socket.socket) -> asyncio.Server:
        probe_when_quiet(cast("Socket", listener))  # which those that it accepts inherit
        server = await asyncio.get_running_loop().create_server(
            lambda: ClientConnection(self._gateway, clock=self._clock),
            sock=listener,
            backlog=BACKLOG,
        )
        host, port = listener.getsockname()[:2]
        log.info("the gateway listens on %s:%d", host, port)
        return server

    def _background(self) -> list[Work]:
        works: list[Work] = [
            self._every(RESTART_SECONDS, self._routes.run),
            self._every(RESTART_SECONDS, self._gateway.suspects.run),
            self._every(RESTART_SECONDS, self._gateway.placing.probes.run),
            self._every(SWEEP_SECONDS, self._sweep),
            self._every(SWEEP_SECONDS, self._keep),
            self._every(self._settings.ship_seconds, self._ship),
            self._every(LEAST_PAUSE_SECONDS, self._load_reports.send),
            self._every(SAMPLES_SECONDS, self._samples.send),
        ]
        if self._settings.broker_url:
            works.append(self._every(RESTART_SECONDS, self._listen))
        if self._gateway.metrics_together is not None:
            works.append(self._every(KEEP_SECONDS, self._keep_counts))
        if self._shared_limits is not None:
            works.append(self._every(RESTART_SECONDS, self._shared_limits.run))
            works.append(self._every(SWEEP_SECONDS, self._count_spend))
        return works

    async def _every(self, seconds: float, step: Callable[[], Work]) -> None:
        """Repeat a step; one that fails is no reason to end, or to stop serving."""
        while True:
            try:
                await step()
            except Exception:
                log.exception("%s failed and is repeated in %g s", step.__qualname__, seconds)
                self._gateway.metrics.slips += 1
            await self._clock.pause(seconds)

    async def _listen(self) -> None:
        if self._settings.broker_url:
            url = self._settings.broker_url
            await nudge.listen(url, self._routes.nudge, clock=self._clock)

    def _confirm(self) -> None:
        self._confirmation.confirm()
        self._gateway.routes.hold = self._confirmation.look()

    async def _sweep(self) -> None:
        self._gateway.sweep()
        self._gateway.routes.hold = self._confirmation.look()

    async def _keep(self) -> None:
        # Beside the sweep: a disk that hangs must not keep time limits from being looked at.
        await self._recorder.keep(self._gateway.running_lines)
        await asyncio.to_thread(self._confirmation.keep)

    async def _count_spend(self) -> None:
        self._gateway.spend.processes = self._gateway.limits.processes
        await self._shared_spend.exchange()

    def _go_on_counting(self) -> None:
        if (together := self._gateway.metrics_together) is not None:
            together.begin(self._gateway.routes.names)

    async def _keep_counts(self) -> None:
        if self._gateway.metrics_together is not None:
            self._gateway.look_who_is_ejected()
            self._gateway.metrics_together.keep()

    async def _ship(self) -> None:
        await self._ship_once(self._journal.segment)

    async def _ship_once(self, live: Segment | None) -> None:
        try:
            await self._shipper.ship(live, await self._membership.credential())
        except (ControlPlaneAway, CredentialRefused) as error:
            # The routes' own polling says when this begins and ends.
            log.debug("usage stays in the journal: %s", error)

    async def _drain(self) -> None:
        log.info("draining %d requests", len(self._gateway.exchanges))
        self._gateway.drain()
        patience = self._clock.monotonic() + self._settings.bounds.drain_seconds
        while self._gateway.unfinished and self._clock.monotonic() < patience:
            await self._clock.pause(0.02)

    async def _close(self) -> None:
        self._gateway.cut_off()
        await self._clock.pause(LAST_WORDS_SECONDS)
        self._gateway.abort()
        await self._keep_counts()
        self._shipper.add(self._journal.close())
        try:
            async with self._clock.timeout(self._settings.bounds.last_shipment_seconds):
                await self._ship_once(None)
        except TimeoutError:
            log.warning("the last usage records stay in the journal until the next start")
        await self._samples.close()
        await self._control_plane.close()
        if self._shared_limits is not None:
            await self._shared_spend.exchange()
            await self._shared_spend.close()
            await self._shared_limits.leave()
        if self._spans is not None:
            await asyncio.to_thread(self._spans.close)
        log.info("the gateway has stopped")


def exporter_of(settings: Settings) -> Exporter | None:
    """Return where spans go, if anywhere. Raises WrongSetting."""
    if settings.traces_url is None:
        return None
    return Exporter(settings.traces_url, "enginehouse-gateway", settings.node_name)


def hold_data_directory(lock_file: Path) -> int:
    """Return a descriptor that keeps other gateways off this directory. Raises WrongSetting."""
    descriptor = os.open(lock_file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise WrongSetting(
            f"Another gateway already runs on {lock_file.parent}: give each its own DATA_DIR."
        ) from None
    return descriptor


def raise_open_file_limit() -> None:
    """Every stream takes two descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _calm_the_collector() -> None:
    """What is loaded now stays; requests free themselves, so full collections may be rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
