"""Read and write recordings and estimates. Units are converted here and nowhere else."""

from .npz import write_recording
from .reading import read_recording
from .results import identify_json, write_estimate, write_json
from .sources import Column, Source
from .units import UNITS, Unit, convert
from .writing import atomic_path, check_folder, check_writable, output_folder, write_text

__all__ = [
    "UNITS",
    "Column",
    "Source",
    "Unit",
    "atomic_path",
    "check_folder",
    "check_writable",
    "convert",
    "identify_json",
    "output_folder",
    "read_recording",
    "write_estimate",
    "write_json",
    "write_recording",
    "write_text",
]
