"""Asynchronous requests: taken in, carried out, cancelled and forgotten."""
