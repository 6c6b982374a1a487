"""An answer for logs whose words no pattern knows: by a family of words, else as a guess."""

from controlplane.domain.failures.guesses.guess import guessed

__all__ = ["guessed"]
