from django.contrib.auth.backends import ModelBackend

from apps.accounts.models import User
from apps.accounts.selectors import user_by_id


class PasswordBackend(ModelBackend):
    """Checks passwords; whoever is signed in comes with the team and the role in it."""

    def get_user(self, user_id: str) -> User | None:
        return user_by_id(user_id)
