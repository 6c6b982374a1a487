"""What quantization cost, measured on the exported files as a runtime loads them."""
