LABELS = {
    "fetch": "Fetch",
    "inspect": "Inspect",
    "calibrate": "Calibrate",
    "gate": "Gate",
    "package": "Package",
    "smoke_test": "Smoke test",
}
