"""Argon2 that costs next to nothing, for passwords that nobody steals."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class CheapArgon2(Argon2PasswordHasher):
    """As the product's, but for the memory and time that make guessing dear."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1
