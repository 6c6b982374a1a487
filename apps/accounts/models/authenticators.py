"""Authenticator apps, whose seeds are sealed by the key ring."""

from base64 import b64decode, b64encode
from typing import Any

from django.conf import settings
from django_otp.plugins.otp_totp.models import TOTPDevice

from apps.accounts.key_ring import KeyRing, KeyRingError, Sealed, key_ring_load
from apps.accounts.sealing import key_ring_prepare, ring_as_it_is

_NONCE_BYTES = 12


class Authenticator(TOTPDevice):  # type: ignore[misc]
    """A device whose `key` is `<key id>:<base64 of nonce and sealed seed>`.

    One of a release that kept seeds plain is sealed when it is next saved, and by each rotation.
    """

    class Meta:
        proxy = True

    @property
    def bin_key(self) -> bytes:
        """The seed. Raises KeyRingError where the ring does not open it."""
        if not self.is_sealed:
            return self._plain_seed()
        with ring_as_it_is():
            return self.seed(key_ring_load(settings.KEY_RING_FILE))

    @property
    def is_sealed(self) -> bool:
        return ":" in self.key

    @property
    def key_id(self) -> str:
        """The key of the ring that sealed the seed, or nothing."""
        return self.key.partition(":")[0] if self.is_sealed else ""

    def save(self, *args: Any, **options: Any) -> None:
        with ring_as_it_is():
            if not self.is_sealed:
                self.key = self.sealed_by(key_ring_prepare())
                if names := options.get("update_fields"):
                    options["update_fields"] = {*names, "key"}
            super().save(*args, **options)

    def seed(self, ring: KeyRing) -> bytes:
        """Return the seed. Raises KeyRingError where this ring does not open it."""
        if not self.is_sealed:
            return self._plain_seed()
        packed = self._packed()
        nonce, ciphertext = packed[:_NONCE_BYTES], packed[_NONCE_BYTES:]
        sealed = Sealed(key_id=self.key_id, nonce=nonce, ciphertext=ciphertext)
        return ring.open_bytes(sealed, bound_to=self._binding)

    def _plain_seed(self) -> bytes:
        try:
            return bytes.fromhex(self.key)
        except ValueError:
            raise KeyRingError("The seed of an authenticator app is unreadable.") from None

    def _packed(self) -> bytes:
        try:
            return b64decode(self.key.partition(":")[2], validate=True)
        except ValueError:
            raise KeyRingError("The seed of an authenticator app is unreadable.") from None

    def sealed_by(self, ring: KeyRing) -> str:
        """Return what `key` is under the ring's newest key."""
        sealed = ring.seal_bytes(self.seed(ring), bound_to=self._binding)
        return f"{sealed.key_id}:{b64encode(sealed.nonce + sealed.ciphertext).decode()}"

    @property
    def _binding(self) -> str:
        return f"authenticator\n{self.user_id}"
