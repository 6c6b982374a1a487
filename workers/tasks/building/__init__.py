"""How a build worker carries out one build, from the claim to the end."""
