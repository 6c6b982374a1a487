"""How tests call the REST API: as somebody, with a key, in JSON."""

from typing import Any

from django.test import Client

from apps.accounts.models import User
from tests.factories import make_api_key


class RestClient:
    """Sends JSON with one API key and gives back (status, body)."""

    def __init__(self, key: str | None, *, scheme: str = "Bearer") -> None:
        self._client = Client()
        self._headers = {"authorization": f"{scheme} {key}"} if key else {}

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        return self._answer(self._client.get(path, query, headers=self._headers))

    def download(self, path: str) -> tuple[int, bytes]:
        answer: Any = self._client.get(path, headers=self._headers)
        return answer.status_code, answer.getvalue()

    def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        return self._answer(
            self._client.post(
                path, body or {}, content_type="application/json", headers=self._headers
            )
        )

    def patch(self, path: str, body: Any) -> tuple[int, Any]:
        return self._answer(
            self._client.patch(path, body, content_type="application/json", headers=self._headers)
        )

    def delete(self, path: str) -> tuple[int, Any]:
        return self._answer(self._client.delete(path, headers=self._headers))

    @staticmethod
    def _answer(response: Any) -> tuple[int, Any]:
        return response.status_code, response.json() if response.content else None


def client_of(user: User) -> RestClient:
    """A client with a personal key of `user`."""
    return RestClient(make_api_key(user=user, type="PERSONAL"))
