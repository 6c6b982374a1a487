"""Ways in: passwords, second steps, links, single sign-on."""
