"""What a team lets gateways keep of its traffic for tunings, and what lies there."""
