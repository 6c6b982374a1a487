"""Signing in through the organisation's OpenID Connect provider."""
