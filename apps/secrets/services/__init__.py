"""Writes of secrets, and the one way to a value: `secret_reveal`."""

from apps.secrets.services.redaction import (
    secret_in,
    secret_redactor,
    unreadable_secrets,
)
from apps.secrets.services.rotation import Rotation, secret_rotate
from apps.secrets.services.trials import (
    SECRET_TEST,
    SecretToTest,
    secret_test_claim,
    secret_test_finish,
    secret_test_request,
    secret_to_test,
)
from apps.secrets.services.values import (
    secret_delete,
    secret_expire,
    secret_reveal,
    secret_set,
    secrets_reveal,
)

__all__ = [
    "SECRET_TEST",
    "Rotation",
    "SecretToTest",
    "secret_delete",
    "secret_expire",
    "secret_in",
    "secret_redactor",
    "secret_reveal",
    "secret_rotate",
    "secret_set",
    "secret_test_claim",
    "secret_test_finish",
    "secret_test_request",
    "secret_to_test",
    "secrets_reveal",
    "unreadable_secrets",
]
