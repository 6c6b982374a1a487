"""Guesses: what is said of an exception that no pattern knows."""

from controlplane.domain.failures.kind import checkpoint, configuration, machine

_MESSAGE = (
    "{subject} ended with “{error}”, which is no failure that is known here. This is a guess: "
    "{place}, so "
)

CONFIGURATION = configuration(
    "EHG-CONFIGURATION",
    _MESSAGE + "a setting is probably to blame.{named}",
    "Look at {look_at} first. If that is not it, the log has what was printed before; the support "
    "bundle holds all of it.",
)
CHECKPOINT = checkpoint(
    "EHG-CHECKPOINT",
    _MESSAGE + "the checkpoint is probably to blame.{named}",
    "See whether the engine's release serves this checkpoint, and whether its files are whole: "
    "{look_at}. The log has what was printed before.",
)
MACHINE = machine(
    "EHG-MACHINE",
    _MESSAGE + "the host is probably to blame.{named}",
    "Check driver, GPUs and packages of this host against what the message asks for, then retry; "
    "the log has what was printed before.",
)
