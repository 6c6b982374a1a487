"""A pasted command -> a config, with every difference said. Nothing is ever run or fetched."""

from collections.abc import Sequence

from controlplane.domain.commands.command_context import take_context
from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.invocation import Invocation, RefusedCommandError
from controlplane.domain.commands.locate import locate
from controlplane.domain.commands.report import CommandImport
from controlplane.domain.commands.secrets import take_environment
from controlplane.domain.memory.fit import GpuOffer
from controlplane.domain.runtimes import RUNTIMES


def import_command(text: str, owned: Sequence[GpuOffer] = ()) -> CommandImport:
    """Return the config that a pasted command means.

    Takes a `vllm serve` or `trtllm-serve` line with everything around it (assignments, wrappers,
    `docker run`, compose, Kubernetes), or the server's own YAML file. The GPU, which no command
    names, is proposed from those that are `owned`. Raises RefusedCommandError.
    """
    return import_invocation(locate(text), owned)


def import_invocation(invocation: Invocation, owned: Sequence[GpuOffer] = ()) -> CommandImport:
    reader = RUNTIMES[invocation.server.value].command_reader
    if reader is None:
        raise RefusedCommandError(f"Commands of {invocation.server.command} are not read here.")
    arguments, secrets = reader.read(invocation)
    plain = take_environment(invocation.context.environment, secrets)
    gpus = [(each.kind, each.count, each.memory_bytes) for each in owned]
    draft = Draft(invocation.server, secrets.hidden(), gpus)
    reader.parse(draft, arguments, invocation.context, secrets)
    take_context(draft, invocation.context, plain, secrets)
    return draft.finish(tuple(secrets.offered.values()))
