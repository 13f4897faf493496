"""A pendulum that everybody here swings, in one model, so that each form of it compiles once."""

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

from poinsot.estimators.joint import Record
from poinsot.models.maximal import Coulomb, Encoder, Hinge, Mechanism, Motor, RateSensor, RigidBody

NOISE = (1e-3, 1e-2)
FREE = ("bob.mass", "bob.cz", "bob.Jxx", "pivot.drag", "pivot.coulomb", "pivot.gain", "pivot.shaft_inertia",
        "pivot encoder.zero", "pivot encoder.sine", "pivot encoder.cosine", "pivot.stick_drag")  # fmt: skip
DRY = ("pivot.coulomb", "pivot.stick_drag")


@cache
def model():
    """A body on a hinge about x with all that a hinge can have, read by an encoder and a rate sensor."""
    return pendulum(Coulomb(0.0, stick_drag=0.5)).model(FREE)


@cache
def frictionless():
    """The same without dry friction, which takes half of the compiling of what is by body."""
    return pendulum(None).model([name for name in FREE if name not in DRY])


def pendulum(friction):
    """Hanging at 0."""
    return Mechanism(
        [RigidBody("bob", 0.5, (4e-3, 4e-3, 1e-3), center=(0, 0, -0.3))],
        [
            Hinge(
                "pivot", "world", "bob", axis=(1, 0, 0), drag=0.02, friction=friction, motor=Motor(0.5, 1e-3),
                compliance=1e-5, rotation_compliance=1e-5, relaxation=0.02,
            )
        ],
        sensors=[Encoder("pivot"), RateSensor("pivot")],
        name="pendulum",
    )  # fmt: skip


def theta(**changed):
    """Of the model, with some numbers changed: `drag=0.1` is the pivot's."""
    values = model().theta.copy()
    for name, value in changed.items():
        values[[each.endswith(f".{name}") for each in FREE].index(True)] = value
    return values


def exact(theta, times, y, rate, u=None, torque=lambda t: 0.0):
    """Coordinates and rates by the scalar equation of motion, u held over each step."""
    mass, c, J, drag, coulomb, gain, shaft = theta[:7]
    inertia = J + mass * c**2 + shaft
    u = np.zeros(len(times)) if u is None else u

    def slope(t, state, command):
        resisting = drag * state[1] + np.clip(0.5 * state[1], -coulomb, coulomb)
        weight = 9.81 * mass * c * np.sin(state[0])
        return [state[1], (weight + gain * command - resisting + torque(t)) / inertia]

    if not np.ptp(u):
        found = solve_ivp(
            slope, (times[0], times[-1]), [y, rate], "DOP853", times, rtol=1e-10, atol=1e-10, args=(u[0],)
        )
        return found.y
    states = [np.array([y, rate])]
    for k in range(len(times) - 1):
        span = times[k], times[k + 1]
        states.append(
            solve_ivp(slope, span, states[-1], "DOP853", rtol=1e-10, atol=1e-10, args=(u[k],)).y[:, -1]
        )
    return np.array(states).T


def read(name, times, motion, rng=None, u=None, rates=False, noise=NOISE):
    """A record of the motion, with noise; of the rate sensor only where asked for."""
    z = np.array(motion).T.copy()
    if rng is not None:
        z += np.array(noise) * rng.standard_normal(z.shape)
    if not rates:
        z[:, 1] = np.nan
    return Record(name, times, np.zeros((len(times), 1)) if u is None else u[:, None], z)
