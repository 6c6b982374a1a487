"""What is wrong now, each family by itself; an alert fires while its condition holds."""
