"""Named places that point at a deployment, and promotion to them."""
