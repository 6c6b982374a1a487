"""Who belongs to a team, and how they come into it."""
