"""Writes of builds, by who makes them: people's requests, the holder of a lease, the sweep."""
