"""A last answer for logs whose words no pattern knows: labelled as a guess, never silent."""

from controlplane.domain.failures.guesses.guess import guessed

__all__ = ["guessed"]
