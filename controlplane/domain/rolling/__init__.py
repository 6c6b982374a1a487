"""How traffic moves from one deployment to another: settings, state and the next step, as data."""
