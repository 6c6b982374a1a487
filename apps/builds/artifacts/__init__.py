"""What builds leave."""
