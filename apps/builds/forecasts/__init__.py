"""What a build will take, and what became of that."""
