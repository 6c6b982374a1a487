"""What people change about themselves."""
