"""What the installation is: its settings as they took effect, and how its parts are."""
