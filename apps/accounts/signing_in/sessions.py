"""Sessions in the database under the hash of their key: who reads the table is nobody by it."""

from typing import Any

from django.contrib.sessions.backends import db

from apps.accounts.hashing import session_key_kept
from controlplane import clock


class SessionStore(db.SessionStore):
    """Django's, but for what a row is found by. Its name is in the salt of what it signs."""

    def get_expiry_date(self, **given: Any) -> Any:
        # Django's would count from the host's own clock.
        return super().get_expiry_date(**{"modification": clock.now(), **given})

    def exists(self, session_key: str) -> bool:
        return bool(super().exists(session_key_kept(session_key)))

    async def aexists(self, session_key: str) -> bool:
        return bool(await super().aexists(session_key_kept(session_key)))

    def create_model_instance(self, data: Any) -> Any:
        made = super().create_model_instance(data)
        made.session_key = session_key_kept(made.session_key)
        return made

    async def acreate_model_instance(self, data: Any) -> Any:
        made = await super().acreate_model_instance(data)
        made.session_key = session_key_kept(made.session_key)
        return made

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(session_key_kept(key))

    async def adelete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            await super().adelete(session_key_kept(key))

    def _get_session_from_db(self) -> Any:
        row = self._live().first()
        if row is None:
            self._session_key = None
        return row

    async def _aget_session_from_db(self) -> Any:
        row = await self._live().afirst()
        if row is None:
            self._session_key = None
        return row

    def _live(self) -> Any:
        kept = session_key_kept(str(self.session_key))
        return self.model.objects.filter(session_key=kept, expire_date__gt=clock.now())
