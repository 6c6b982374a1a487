"""What a team serves under one name."""
