"""Check that an edited description, read again, has the intended torques.

Torques are compared at random states, all bodies and all joints at once, so any error (a link's frame, a rounded
number, a parser that reads differently) shows. They are relative to the largest torque of the joint, or to a millionth
of its summands if those cancel: the torque of an unloaded joint is rounding error only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float

from ..exceptions import InvalidModel
from ..models.articulated import Articulated
from .description import Description, Freedom, JointDynamics

STATES = 32
TOLERANCE = 1e-9


def check_reloaded(
    robot: Articulated,
    description: Description,
    inertials: Float[np.ndarray, "l 10"],
    terms: Mapping[Freedom, JointDynamics],
) -> float:
    """Largest relative torque error of the description, read with the same options as `robot`.

    Args:
        inertials: (l, 10) of the bodies, in the order of `robot.bodies`.
        terms: joint terms written into the description.

    Raises:
        InvalidModel: if they differ by more than 1e-9, or joints, bodies, damping or friction differ.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / description.path.name
        path.write_bytes(description.text.data)
        again = robot.read_again(path)
    if (again.joints, again.bodies) != (robot.joints, robot.bodies):
        raise _changed(description, "it has other joints or bodies")
    states = robot.random_states(STATES, np.random.default_rng(0))
    # Before the regressor, which would fail on states of another size.
    if again.model.nq != robot.model.nq:
        raise _changed(description, "its joints are of other types")
    Y, pi = robot.torque_regressor(*states), inertials.ravel()
    asked, found = Y @ pi, again.torque_regressor(*states) @ again.inertials.ravel()
    size = np.maximum(np.abs(asked).max(axis=0), 1e-6 * (np.abs(Y) @ np.abs(pi)).max(axis=0))
    error = np.abs(found - asked).max(axis=0)
    relative = np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0)
    # Not `>`: NaN must fail too.
    if not relative.max() <= TOLERANCE:
        worst = int(np.argmax(relative))
        k = worst - int(robot.actuated[0])
        joint = robot.joints[k] if k >= 0 else "the floating base"
        how = f"{joint} has torques that differ by {relative[worst]:.2g} of the largest"
        raise _changed(description, how)
    for k, (joint, freedom) in enumerate(zip(robot.joints, robot.freedoms, strict=True)):
        given = terms.get(freedom, JointDynamics())._asdict()
        for name, values in again.described_terms.items():
            before = float(robot.described_terms[name][k])
            meant = before if given[name] is None else float(given[name])
            if not np.isclose(values[k], meant, rtol=1e-12, atol=0):
                raise _changed(description, f"the {name} of {joint} is {values[k]:g} and not {meant:g}")
    return float(relative.max())


def _changed(description: Description, what: str) -> InvalidModel:
    return InvalidModel(
        f"{description.path} with other inertia, read again, is not the robot that was identified: {what}; "
        "if the file has changed since it was read, identify with it as it is now"
    )
