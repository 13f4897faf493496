"""The paper's Furuta pendulum (Sect. 4.3, Tables 1 and G.5), and simulated recordings of it (G.2, G.3).

The stand is held still. Hinge 1 is vertical and has the motor; body A is the arm, its centre of mass l_1 from the
hinge. Hinge 2 lies along the arm, l_A from hinge 1; body B is the pendulum, its centre of mass l_2 from there. Axes of
A: x along the arm, z up. Axes of B: x along the pendulum, y along hinge 2. So J_Azz and J_Byy are the inertias about
the two hinges' axes, J_Bzz shows where the pendulum swings out, and J_Axx and J_Ayy nowhere.

Both angles are zero where the pendulum hangs. Where the tables are damaged or unreadable: l_A is measured from hinge 1,
l_2 = 0.092 m, b_2 = 1e-4 N m s/rad, J_shaft = 1e-4 kg m^2.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Vector
from poinsot.estimators.joint import Record
from poinsot.models.maximal import Coulomb, Encoder, Hinge, Mechanism, Model, Motor, RigidBody, State

from .rollout import simulate, state_of

ARM_CENTER, ARM_LENGTH, PENDULUM_CENTER = 0.128, 0.248, 0.092
"""l_1, l_A, l_2 [m]."""
MASSES = 0.238, 0.428
"""m_A, m_B [kg]."""
SHAFT, RELAXATION, COMPLIANCE = 1e-4, 0.02, 1e-5
"""[kg m^2], [s], [m/N] and [rad/(N m)]."""
GRAVITY = 9.82
NOISE = 1e-3
"""Standard deviation of angles [rad]."""
GENERATOR_STEP = 1e-4
"""Of the paper's simulated recording [s]."""
SAMPLE = 0.01
"""Of the controller, and of what is estimated from [s]."""
UPRIGHT = np.pi - 0.03
"""Where the pendulum is released [rad]."""

NAMES = {
    "Jaxx": "A.Jxx",
    "Jayy": "A.Jyy",
    "Jazz": "A.Jzz",
    "Jbyy": "B.Jyy",
    "Jbzz": "B.Jzz",
    "b1": "hinge1.drag",
    "b2": "hinge2.drag",
    "fc1": "hinge1.coulomb",
    "fc2": "hinge2.coulomb",
    "K": "hinge1.gain",
    "tilt_x": "world.tilt_x",
    "tilt_y": "world.tilt_y",
    "tilt_z": "world.tilt_z",
}
"""The paper's names of its thirteen parameters, the tilt as a rotation vector, and ours."""
UNITS = {
    name: "kg m^2"
    if name.startswith("J")
    else "N m s/rad"
    if name.startswith("b")
    else "rad"
    if "t" in name
    else ""
    for name in NAMES
} | {"K": "N m/V"}
INITIAL = dict.fromkeys(NAMES, 0.0) | {
    "Jaxx": 0.01,
    "Jayy": 0.01,
    "Jazz": 0.01,
    "Jbyy": 0.01,
    "Jbzz": 0.01,
    "b1": 1e-4,
    "b2": 1e-4,
    "fc1": 5e-4,
    "fc2": 5e-4,
    "K": 0.1,
}
"""Where the paper begins (Table 1)."""
TRUTH = {
    "Jaxx": 1e-4,
    "Jayy": 3e-3,
    "Jazz": 3e-3,
    "Jbyy": 4e-3,
    "Jbzz": 4e-3,
    "b1": 1e-3,
    "b2": 1e-4,
    "fc1": 4e-3,
    "fc2": 1e-3,
    "K": 0.073,
    "tilt_x": 0.010,
    "tilt_y": -0.015,
    "tilt_z": 0.0,
}
"""What we simulate: Table G.5, and what it has not near Table 4's swing-up."""
STICK_DRAG = 0.5
"""Of dry friction inside its bounds [N m s/rad]: full friction, some 5 mN m, is reached at 0.01 rad/s."""


def furuta(compliance: float = COMPLIANCE, dry: bool = False) -> Mechanism:
    """The mechanism with Table G.5's numbers.

    Args:
        compliance: of both hinges [m/N], [rad/(N m)].
        dry: whether its hinges have dry friction.
    """
    held = partial(Hinge, compliance=compliance, rotation_compliance=compliance, relaxation=RELAXATION)
    laws = [Coulomb(TRUTH[name], stick_drag=STICK_DRAG) if dry else None for name in ("fc1", "fc2")]
    hanging = np.eye(4)
    hanging[:3, :3] = np.transpose([(0, 0, -1), (1, 0, 0), (0, -1, 0)])
    hanging[:3, 3] = (ARM_LENGTH, 0, 0)
    motor = Motor(TRUTH["K"], SHAFT)
    at_end = (ARM_LENGTH, 0.0, 0.0)
    return Mechanism(
        [
            RigidBody("A", MASSES[0], (TRUTH["Jaxx"], TRUTH["Jayy"], TRUTH["Jazz"]), (ARM_CENTER, 0, 0)),
            RigidBody("B", MASSES[1], (1e-4, TRUTH["Jbyy"], TRUTH["Jbzz"]), (PENDULUM_CENTER, 0, 0), hanging),
        ],
        [
            held("hinge1", "world", "A", axis=(0, 0, 1), drag=TRUTH["b1"], friction=laws[0], motor=motor),
            held("hinge2", "A", "B", at_end, axis=(1, 0, 0), drag=TRUTH["b2"], friction=laws[1]),
        ],
        sensors=[Encoder("hinge1"), Encoder("hinge2")],
        gravity=(0, 0, -GRAVITY),
        name="Furuta pendulum",
    )


def model_of(
    names: Sequence[str], compliance: float = COMPLIANCE, dry: bool = False, **options: bool
) -> Model:
    """Its dynamics with these of the paper's parameters free."""
    return furuta(compliance, dry).model([NAMES[name] for name in names], **options)


def values(names: Sequence[str], of: dict[str, float]) -> Vector:
    """(p,) `TRUTH` or `INITIAL` of these."""
    return np.array([of[name] for name in names])


def on_one_thread() -> None:
    """Ask XLA for one thread, which it heeds if it has computed nothing yet.

    Seconds are then of one core; and with two threads on two cores, factorizations in the implicit form's loops have
    been seen to wait for each other for ever.
    """
    os.environ.setdefault("NPROC", "1")


# ---------------------------------------------------------------------------------------------------------- recordings


@dataclass(frozen=True, eq=False)
class Motion:
    """What was simulated.

    Args:
        name: of the scenario.
        times: (T,) [s].
        u: (T, 1) volts, held until the next sample.
        y: (T, 2) angles [rad].
        noisy: (T, 2) what encoders read of them.
    """

    name: str
    times: Float[np.ndarray, "T"]
    u: Float[np.ndarray, "T 1"]
    y: Float[np.ndarray, "T 2"]
    noisy: Float[np.ndarray, "T 2"]

    def record(
        self, every: int = 1, start: float = 0.0, seconds: float = np.inf, noise: bool = True
    ) -> Record:
        """Every so many samples of a stretch [s]; its own clock begins at 0."""
        h = float(self.times[1])
        first = round(start / h)
        count = int(min(seconds / h + 1e-6, len(self.times) - 1 - first)) // every
        samples = slice(first, first + count * every + 1, every)
        z = (self.noisy if noise else self.y)[samples]
        return Record(self.name, self.times[samples] - self.times[first], self.u[samples], z)


def motion(name: str, times: Vector, u: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Motion:
    """With noise of its encoders."""
    return Motion(name, times, u, y, y + NOISE * rng.standard_normal(y.shape))


def release(
    model: Model, theta: Vector, seconds: float, rng: np.random.Generator, h: float = GENERATOR_STEP
) -> Motion:
    """From almost upright, at rest (G.3)."""
    return _run("release", model, theta, h, np.zeros((round(seconds / h), 1)), UPRIGHT, rng)


def pulse(
    model: Model, theta: Vector, seconds: float, rng: np.random.Generator, h: float = GENERATOR_STEP
) -> Motion:
    """From hanging at rest, volts for one second."""
    u = np.zeros((round(seconds / h), 1))
    u[round(0.5 / h) : round(1.5 / h)] = PULSE_VOLTS
    return _run("pulse", model, theta, h, u, 0.0, rng)


def _run(
    name: str, model: Model, theta: Vector, h: float, u: np.ndarray, angle: float, rng: np.random.Generator
) -> Motion:
    states = simulate(model, state_of(model, hinge2=angle), h, len(u), u, theta)
    y = model.joint_motion(states.states, theta)[0]
    return motion(name, states.times, np.concatenate([u, u[-1:]]), y, rng)


MOST_VOLTS, PULSE_VOLTS = 5.0, 3.0
PUMP, CENTERING, BRAKING, SURPLUS = 10.0, 2.0, 0.3, 0.15
"""Of the swing-up controller [V/W], [V/rad], [V s/rad], [J]."""


def swing_up_volts(y: Vector, rate: Vector) -> float:
    """An energy-shaping controller, from angles [rad] and rates [rad/s].

    The pendulum's own energy, E = J y_2'^2 / 2 - m g l (cos y_2 + 1), is zero upright at rest, and the arm's
    acceleration changes it by -m l l_A y_1'' y_2' cos y_2: so the arm is pushed along (E - E_0) y_2' cos y_2, and kept
    near 0. The surplus E_0 takes the pendulum past upright, again and again, since nothing catches it there.
    """
    J = TRUTH["Jbyy"] + MASSES[1] * PENDULUM_CENTER**2
    E = J * rate[1] ** 2 / 2 - MASSES[1] * GRAVITY * PENDULUM_CENTER * (np.cos(y[1]) + 1)
    wanted = PUMP * (E - SURPLUS) * rate[1] * np.cos(y[1]) - CENTERING * y[0] - BRAKING * rate[0]
    return float(np.clip(wanted, -MOST_VOLTS, MOST_VOLTS))


def swing_up(
    model: Model,
    theta: Vector,
    seconds: float,
    rng: np.random.Generator,
    h: float = GENERATOR_STEP,
    held: float = SAMPLE,
) -> Motion:
    """From hanging at rest, the controller in the loop: it sees the state at each sample, and its volts are held.

    The simulation goes on from sample to sample, so all of it at once under the recorded volts is the same motion.
    """
    every, samples = round(held / h), round(seconds / held)
    x, volts, angles = state_of(model, hinge2=0.05), np.zeros((samples, 1)), []
    y, rate = model.joint_motion(State(*(part[None] for part in x)), theta)
    angles.append(y)
    for k in range(samples):
        volts[k] = swing_up_volts(y[-1], rate[-1])
        states = simulate(model, x, h, every, np.repeat(volts[k : k + 1], every, axis=0), theta).states
        y, rate = (part[1:] for part in model.joint_motion(states, theta))
        angles.append(y)
        x = State(*(part[-1] for part in states))
    u = np.repeat(volts, every, axis=0)
    u = np.concatenate([u, u[-1:]])
    return motion("swing-up", h * np.arange(len(u)), u, np.unwrap(np.concatenate(angles), axis=0), rng)
