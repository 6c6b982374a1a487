"""Who may do what."""

from rest_framework.permissions import IsAuthenticated


class IsTeamMember(IsAuthenticated):
    """Anyone signed in, or calling with a key, acts within the own team."""
