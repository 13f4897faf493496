"""How an estimate was computed: settings, processing steps, warnings, timings, versions, methods to cite."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..arrays import Brief
from .finding import Finding


@cache
def software_versions() -> Mapping[str, str]:
    """Versions of the software that computes an estimate, by package."""
    packages = ("poinsot", "numpy", "scipy", "numba", "pin", "clarabel")
    found = {"python": platform.python_version()}
    for package in packages:
        # Some are optional, and a checkout that is only on the path has no version.
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


@dataclass(frozen=True, repr=False)
class Provenance(Brief):
    """How an estimate was computed. `settings`: of the method and of the project file. `steps`: data processing steps,
    in order. `warnings`: sentences that limit how far the values can be trusted. `notes`: other sentences for the
    reader. `seconds`: time of each stage [s]. `versions`: software, by package. `citations`: keys of the methods used,
    see `citations.bib`. `corrected`: defects of the data that were corrected before use.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=software_versions)
    citations: tuple[str, ...] = ()
    corrected: tuple[Finding, ...] = ()
