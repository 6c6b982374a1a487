import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.dashboard.demo.access import Access, grant_access
from apps.dashboard.demo.checkpoint import ensure_checkpoint
from apps.dashboard.demo.configs import RUNS_HERE, RUNS_HERE_YAML
from apps.dashboard.demo.console import Console
from apps.dashboard.demo.failure import DemoFailed
from apps.dashboard.demo.job import Job
from apps.dashboard.demo.machine import Machine, running_machine
from apps.dashboard.demo.quality import emulation_words, quality_lines
from apps.dashboard.demo.question import QUESTION, ask, curl_line, endpoint
from controlplane.clock import SYSTEM, Clock
from controlplane.processes.running import RunningServices


class Command(BaseCommand):
    help = "Build, serve and ask a real small model on this machine; stops with Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop after the answer")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        # By hand: a shell starts its background jobs with SIGINT ignored, and Python keeps that.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        try:
            demonstrate(Console(), once=once)
        except DemoFailed as failure:
            raise CommandError(str(failure)) from None
        except KeyboardInterrupt:
            self.stdout.write("\nStopped.")


def demonstrate(console: Console, *, once: bool, clock: Clock = SYSTEM) -> None:
    """Run the whole main job, then serve until Ctrl-C unless `once`."""
    started = clock.monotonic()
    with running_machine(settings.DATA_DIR, clock=clock) as machine:
        with console.stage("Starting Enginehouse on this machine"):
            services = machine.wait_until_ready()
            access = grant_access(settings.DATA_DIR)
        base_url, build = _deploy(console, machine, services, access, clock)
        console.say(f"\nAsking it through the gateway: {QUESTION}\n")
        ask(base_url=base_url, api_key=access.api_key, console=console)
        console.say(f"\nAnswered from the FP8 artifact. {emulation_words(build)}")
        _summary(console, services, access, base_url, clock.monotonic() - started)
        if not once:
            console.say("\nServing until Ctrl-C.")
            machine.wait()
            machine.check_alive()


def _deploy(
    console: Console, machine: Machine, services: RunningServices, access: Access, clock: Clock
) -> tuple[str, dict[str, Any]]:
    with Job(
        public_url=services.public_url,
        api_key=access.api_key,
        console=console,
        watch=machine.check_alive,
        clock=clock,
    ) as job:
        model, build = _carry_out(console, job)
    return endpoint(gateway_url=services.gateway_url, model_id=model["id"]), build


def _carry_out(console: Console, job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
    with console.stage("Turning the bundled SmolLM2-135M-Instruct into a checkpoint folder"):
        ensure_checkpoint(settings.DATA_DIR, console)
    with console.stage("Checking two configs"):
        config = job.config(RUNS_HERE, RUNS_HERE_YAML)
        findings = job.store_what_cannot_run_here()
        console.say(f"  one cannot be built here and says why: {findings} findings")
        if job.wait_until_checked(RUNS_HERE_YAML)["blocks_build"]:
            raise DemoFailed(f"The config {RUNS_HERE} does not pass its checks on this machine.")
    with console.stage("Building it in FP8"):
        build = job.build(config)
        for line in quality_lines(build):
            console.say(f"  {line}")
    with console.stage("Deploying to production"):
        return job.deployed(name=RUNS_HERE, build=build), build


def _summary(
    console: Console, services: RunningServices, access: Access, base_url: str, seconds: float
) -> None:
    console.say(f"\nAnswered {seconds:.0f} s after the start.\n")
    console.say(f"Endpoint   {base_url}")
    console.say(f"API key    {access.api_key}")
    console.say(f"Dashboard  {services.public_url}")
    console.say(f"Chat       {services.public_url}/models/try/")
    console.say(f"Sign in    {access.sign_in_link}")
    console.say("\nTry it:\n")
    console.say(curl_line(base_url=base_url, api_key=access.api_key))
