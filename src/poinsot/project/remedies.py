"""Remedies of findings in terms of the project file: the lines to write replace those that are there.

A finding knows the readings as the project file has converted them. So a factor on them multiplies the `scale` that the
file has, and a delay is added to the `delays` that it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import pi
from typing import Any

from ..diagnosis.position_samples import UNWRAP
from ..estimate import Finding
from ..io.units import find_unit
from ..recording import EFFORTS
from .settings import Settings
from .settings.fields import by_joint

FACTORS = re.compile(
    r"Write scale = \[([^\]]*)\] in (torque|position)( and in position)? of the recordings\."
)
DELAYS = re.compile(r"delays = \{ (\"?[\w.]+\"?) = (-?[\d.]+) \} in \[preprocessing\]")


def in_terms_of(settings: Settings, joints: Sequence[str], finding: Finding) -> Finding:
    """The finding with a remedy that can be written as it is. `joints`: in the order of recorded positions."""
    remedy = FACTORS.sub(lambda match: _scales(settings, joints, match), finding.remedy)
    remedy = remedy.replace(UNWRAP, _wraps(settings)) if UNWRAP in remedy else remedy
    remedy = DELAYS.sub(lambda match: _delays(settings, match), remedy)
    return replace(finding, remedy=remedy)


def _scales(settings: Settings, joints: Sequence[str], match: re.Match[str]) -> str:
    factors = dict(zip(joints, map(float, match[1].split(",")), strict=False))
    sentences: dict[tuple[str, str], None] = {}
    for quantity in [match[2]] + (["position"] if match[3] else []):
        for table in _tables(settings, quantity):
            own = [joint for joint in table.joints or joints if joint not in table.not_measured]
            before = by_joint("scale", table.scale, own, 1.0)
            before = before if isinstance(before, list) else [before] * len(own)
            scales = [f"{factors.get(joint, 1.0) * x:.6g}" for joint, x in zip(own, before, strict=True)]
            sentences[quantity, ", ".join(scales)] = None
    lines = dict.fromkeys(scales for _, scales in sentences)
    if len(lines) == 1:
        return f"Write scale = [{next(iter(lines))}] in {match[2]}{match[3] or ''} of the recordings."
    return " ".join(
        f"Write scale = [{scales}] in {quantity} of the recordings." for quantity, scales in sentences
    )


def _tables(settings: Settings, quantity: str) -> Iterator[Any]:
    """The tables of a quantity in all files; of torques, those of currents or voltages where these are measured."""
    for recording in settings.recordings:
        for file in recording.files or [recording]:
            names = EFFORTS if quantity == "torque" else (quantity,)
            yield from (table for name in names if (table := getattr(file, name)) is not None)


def _wraps(settings: Settings) -> str:
    (first, *_) = _tables(settings, "position")
    unit = first.unit[0] if isinstance(first.unit, list) else first.unit
    turn = 2 * pi / find_unit(unit).factor / (first.scale if isinstance(first.scale, float) else 1.0)
    return f"Write wraps = {abs(turn):.15g} in position of the recordings."


def _delays(settings: Settings, match: re.Match[str]) -> str:
    preprocessing: Any = settings.preprocessing
    delays: Mapping[str, float] | Any = getattr(preprocessing, "delays", {})
    name = match[1].strip('"')
    quantity = name.partition(".")[0]
    before = {**delays} if isinstance(delays, Mapping) else {}
    total = before.get(name, before.get(quantity, 0.0)) + float(match[2])
    rest = "".join(f", {key} = {value:g}" for key, value in before.items() if key != name and "." not in key)
    return f"delays = {{ {match[1]} = {total:.4f}{rest} }} in [preprocessing]"
