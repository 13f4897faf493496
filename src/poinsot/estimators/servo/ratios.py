"""What positions show of an actuator even where they do not show the scale of its torques.

Torque parameters over the stiffness are coordinates of the search. Beside them stands the time by which a slow motion
is late,

    delay + lag + (velocity_gain + damping) / stiffness

since k (u - q) = (d + v) dq/dt in a slow motion at constant speed. Recordings often show this sum far better than how
delay, damping and gains share in it.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Matrix, Vector
from ...models.servo.actuator import parameter as row_of
from ...models.servo.rollout import place_of
from .between_recordings import RecordingsAlone
from .coordinates import Coordinates, is_scaled
from .result import Ratio

TIMES, RESISTANCES = ("delay", "lag"), ("velocity_gain", "damping")


def ratios_of(
    owner: str,
    position_unit: str,
    coordinates: Coordinates,
    x: Vector,
    covariance: Matrix,
    of_description: Matrix,
    alone: RecordingsAlone,
    absent: str = "",
) -> list[Ratio]:
    """Ratios to the stiffness, where it is estimated, and the lateness of slow motions.

    Args:
        owner: joint, or group, of which the lateness is that of the first joint. position_unit: rad or m.
        x: (p,) coordinates. covariance: (p, p) of them. of_description: (p, p) of it, by errors of the description.
        alone: the recordings alone. absent: a parameter that was not found.
    """
    names = [name for name, _ in coordinates.columns]
    scaled = [
        i for i, name in enumerate(names) if is_scaled(name) and name != absent and coordinates.has_scale
    ]
    labels = [(f"{names[i]} / stiffness", _per_stiffness(names[i], position_unit)) for i in scaled]
    if terms := _terms(coordinates):
        labels.append((terms, "s"))

    def quantities(x: Vector) -> tuple[Vector, Matrix]:
        values, slopes = x[scaled], np.eye(len(x))[scaled]
        if not terms:
            return values, slopes
        late, slope = lateness(coordinates, x)
        return np.append(values, late), np.vstack([slopes, slope])

    values, slopes = quantities(x)
    std, wrong = (
        # rounding may leave less than nothing
        np.sqrt(np.maximum(np.einsum("kp,pq,kq->k", slopes, C, slopes), 0.0))
        for C in (covariance, of_description)
    )
    following = np.maximum(np.hypot(alone.next_std(quantities, values, np.abs(values)), wrong), std)
    return [
        Ratio(owner, name, unit, value, s, s < abs(value), later if np.isfinite(later) else None)
        for (name, unit), value, s, later in zip(
            labels, values.tolist(), std.tolist(), following.tolist(), strict=True
        )
    ]


def lateness(coordinates: Coordinates, x: Vector) -> tuple[float, Vector]:
    """The time by which slow motions are late at coordinates x (p,) [s], and its (p,) slope."""
    theta = coordinates.natural(x)
    numbers = coordinates.of_joint(theta, 0)
    stiffness, *terms = (float(numbers[place_of(name)]) for name in ("stiffness", *RESISTANCES, *TIMES))
    resistance = sum(terms[: len(RESISTANCES)])
    slopes = dict.fromkeys(TIMES, 1.0) | dict.fromkeys(RESISTANCES, 1 / stiffness)
    slopes["stiffness"] = -resistance / stiffness**2
    by_natural = np.array([slopes.get(name, 0.0) for name, _ in coordinates.columns])
    return resistance / stiffness + sum(terms[len(RESISTANCES) :]), by_natural @ coordinates.slope(x)


def _per_stiffness(parameter: str, position_unit: str) -> str:
    """Unit of a parameter over the stiffness."""
    row = row_of(parameter)
    known = {"{effort}": position_unit, "{effort} s/{position}": "s", "{inertia}": "s^2"}
    stiffness = row_of("stiffness").unit_of(position_unit)
    return known.get(row.unit) or f"{row.unit_of(position_unit)} / ({stiffness})"


def _terms(coordinates: Coordinates) -> str:
    """What lateness is the sum of; empty where it is no more than one open parameter."""
    numbers = coordinates.held[0]

    def there(names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in coordinates.open or numbers[place_of(name)] > 0]

    times, resistances = there(TIMES), there(RESISTANCES)
    if (
        not there(("stiffness",))
        or not resistances
        or sum(name in coordinates.open for name in (*times, *resistances)) < 2
    ):
        return ""
    over = " + ".join(resistances)
    return " + ".join([*times, f"{over if len(resistances) == 1 else f'({over})'} / stiffness"])
