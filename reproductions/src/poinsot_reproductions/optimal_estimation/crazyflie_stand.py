"""The thrust stand of the Crazyflie: thrust per squared rotor speed, and how much it depends on its treatment.

Four rotors push on a balance while their speed rises slowly and falls again:

    w_i = tare + c L[s]_i,      s_i = sum of the four squared speeds,      L delays by so many rows

The balance reads -1.2 gf at rest and says a new value every tenth row only, so that on the way up it reads too little
and on the way down too much, by up to 10 %. Each of the questions (does the reading at rest stay under load, is it a
number of the fit, is the lag the balance's, which ramp) has a sensible answer that gives another c. One is taken as the
model: the tare is what the balance reads at rest, and the lag is what explains both ramps best. All others are the
systematic, which no length of recording makes smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize_scalar

from poinsot import Column, Source, read_recording
from poinsot.arrays import Samples, Vector
from poinsot.exceptions import InvalidRecording

FILE = "thrust_stand.csv"
ROTORS = ("m1", "m2", "m3", "m4")
TURN_PER_MINUTE = 2 * np.pi / 60
GRAM_FORCE = 9.80665e-3  # [N]

APART = 0.15
"""A row in which a rotor is further than this part from the median of the four is dropped: a reading was lost."""

LONGEST_LAG = 60.0
"""[rows]"""

RAMPS = ("both ramps", "up", "down")
TARES = ("tare at rest", "tare fitted", "no tare")
MODEL = "both ramps, lag, tare at rest"


@dataclass(frozen=True, eq=False)
class Stand:
    """What the stand recorded, without rows that are absurd.

    Args:
        row: (T,) of the file, counted from 0.
        thrust: (T,) that the balance reads [N].
        squared_speed: (T,) sum over the four rotors [rad^2/s^2].
    """

    row: Samples
    thrust: Samples
    squared_speed: Samples

    @property
    def at_rest(self) -> Bool[np.ndarray, "T"]:
        return self.squared_speed == 0

    def ramp(self, name: str) -> Bool[np.ndarray, "T"]:
        """Rows with turning rotors, of one of `RAMPS`."""
        top = self.row[np.argmax(self.squared_speed)]
        of_ramp = {"both ramps": self.row >= 0, "up": self.row < top, "down": self.row > top}
        return of_ramp[name] & ~self.at_rest

    def lagged(self, rows: float) -> Samples:
        """(T,) squared speeds as many rows ago."""
        return np.interp(self.row - rows, self.row, self.squared_speed)


@dataclass(frozen=True, eq=False)
class ThrustCoefficient:
    """Thrust of a rotor per squared speed.

    Args:
        value: by the model [N s^2]. std: as far as the scatter of the rows says it, each value of the balance once.
        tare: that the balance reads at rest [N]. lag: of the balance [rows].
        treatments: the other answers, and the model's, by name [N s^2].
        dropped: rows of the file that are absurd.
    """

    value: float
    std: float
    tare: float
    lag: float
    treatments: Mapping[str, float]
    dropped: int

    @property
    def interval(self) -> tuple[float, float]:
        """The smallest and the largest of all treatments [N s^2]."""
        return min(self.treatments.values()), max(self.treatments.values())


def grams_per_rpm2(coefficient: float) -> float:
    """A coefficient in N s^2, in gf per squared revolution a minute."""
    return coefficient * TURN_PER_MINUTE**2 / GRAM_FORCE


def read_stand(path: Path) -> tuple[Stand, int]:
    """The stand's file, and how many rows were dropped.

    Raises:
        UnreadableFile, InvalidRecording: if it cannot be read, or has no row at rest or with turning rotors.
    """
    channels = {"thrust": Column("weight[g]", "gf")}
    channels |= {rotor: Column(f"rpm{k}", "rpm") for k, rotor in enumerate(ROTORS, 1)}
    recording = read_recording(Source(path, channels), rate_hz=1.0)
    speeds = np.stack([recording[rotor] for rotor in ROTORS], axis=1)
    middle = np.median(speeds, axis=1)
    good = np.abs(speeds - middle[:, None]).max(axis=1) <= APART * middle
    stand = Stand(
        np.flatnonzero(good).astype(float), recording["thrust"][good], (speeds[good] ** 2).sum(axis=1)
    )
    if not stand.at_rest.any() or any(stand.ramp(name).sum() < 10 for name in RAMPS):
        raise InvalidRecording(
            f"{path} needs rows at rest, and some with rising and with falling speed of all four rotors"
        )
    return stand, int((~good).sum())


def calibrate(path: Path) -> ThrustCoefficient:
    """The coefficient by the model and by every other treatment.

    Args:
        path: the stand's file.
    """
    stand, dropped = read_stand(path)
    lag = _lag(stand)
    treatments = {
        f"{ramp}, {'lag' if rows else 'no lag'}, {tare}": _fit(stand, ramp, rows, tare)[0]
        for ramp, rows, tare in product(RAMPS, (lag, 0.0), TARES)
    }
    value, scatter = _fit(stand, "both ramps", lag, "tare at rest")
    assert treatments[MODEL] == value
    return ThrustCoefficient(value, scatter, _tare(stand), lag, treatments, dropped)


def _tare(stand: Stand) -> float:
    return float(stand.thrust[stand.at_rest].mean())


def _lag(stand: Stand) -> float:
    """With which the two ramps agree best, for the tare at rest."""

    def misfit(rows: float) -> float:
        s, w = _rows(stand, "both ramps", rows)
        w = w - _tare(stand)
        return float(w @ w - (s @ w) ** 2 / (s @ s))

    return float(minimize_scalar(misfit, bounds=(0.0, LONGEST_LAG), method="bounded").x)


def _rows(stand: Stand, ramp: str, lag: float) -> tuple[Vector, Vector]:
    chosen = stand.ramp(ramp)
    return stand.lagged(lag)[chosen], stand.thrust[chosen]


def _fit(stand: Stand, ramp: str, lag: float, tare: str) -> tuple[float, float]:
    """c by least squares and its standard deviation [N s^2]."""
    s, w = _rows(stand, ramp, lag)
    regressor = np.stack([s, np.ones_like(s)], axis=1)[:, : 2 if tare == "tare fitted" else 1]
    w = w - (_tare(stand) if tare == "tare at rest" else 0.0)
    size = np.linalg.norm(regressor, axis=0)
    found = np.linalg.lstsq(regressor / size, w)[0] / size
    held = len(w) / max(int(np.count_nonzero(np.diff(w))), 1)  # rows that show one and the same value
    spread = np.std(w - regressor @ found) * np.sqrt(held)
    return float(found[0]), float(spread * np.sqrt(np.linalg.inv(_gram(regressor / size))[0, 0]) / size[0])


def _gram(regressor: Float[np.ndarray, "T k"]) -> Float[np.ndarray, "k k"]:
    return regressor.T @ regressor
