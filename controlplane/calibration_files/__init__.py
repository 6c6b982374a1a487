"""Files of calibration data that people upload: read in a child, checked, counted."""

from controlplane.calibration_files.found import Inspection
from controlplane.calibration_files.problems import BadFile
from controlplane.calibration_files.supervision import inspect_file

__all__ = ["BadFile", "Inspection", "inspect_file"]
