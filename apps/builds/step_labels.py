"""The name of each step on pages."""

LABELS = {
    "fetch": "Fetch",
    "inspect": "Inspect",
    "calibrate": "Calibrate",
    "gate": "Gate",
    "package": "Package",
    "smoke_test": "Smoke test",
}
