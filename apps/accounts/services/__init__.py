"""Writes of people, teams, keys and sign-ins."""
