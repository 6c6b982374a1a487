"""EH2: precisions, what they are calibrated on, and models that they suit."""
