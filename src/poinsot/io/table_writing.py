"""Write columns of numbers to CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..exceptions import UnwritableOutput
from .writing import atomic_path

SUFFIXES = (".csv", ".parquet")


def write_columns(columns: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Write columns of equal length under their names, complete or not at all; CSV with a header and all digits.

    Raises:
        UnwritableOutput: if the name ends in neither .csv nor .parquet, or cannot be written to.
    """
    path = Path(path)
    check_suffix(path)
    import polars as pl

    table = pl.DataFrame({name: np.ascontiguousarray(values) for name, values in columns.items()})
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".csv":
            table.write_csv(temporary)
        else:
            table.write_parquet(temporary)


def check_suffix(path: Path) -> None:
    """Check that the ending of the name is a known format.

    Raises:
        UnwritableOutput: if not.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UnwritableOutput(
            f"cannot write {path}: its name has no known ending; use {' or '.join(SUFFIXES)}"
        )
