"""Pages of people, teams and keys, and the ways in."""
