"""Estimates to make pages of: the arm of Brunot et al. (2017) with its published parameters, one axis, and a humanoid.

The arm also has bodies with priors and every parameter, as `semidefinite` finds them, and a load and drive gains, as
`payload` does; the axis has none of that.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flat_estimate import flat_estimate
from poinsot.estimate import (
    Body,
    Direction,
    DriveGains,
    Estimate,
    Fit,
    FullParameters,
    Payload,
    Status,
    Uncertainty,
    Whiteness,
)
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import body as body_of, from_physical
from poinsot.parameters import INERTIAL_SYMBOLS, INERTIAL_UNITS

TX40 = """zz1r 1.24 1.31; fc1 6.90 2.19; fv1 8.07 0.69; xx2r -0.48 2.89; xz2r -0.16 4.45; zz2r 1.09 1.08;
mx2r 2.22 2.35; fc2 7.90 1.75; fv2 5.62 1.10; xx3r 0.14 9.15; zz3r 0.11 9.01; my3r -0.59 2.56;
ia3 0.09 9.26; fc3 6.26 2.22; fv3 1.98 2.11; mx4 -0.03 28.2; ia4 0.03 16.4; fc4 2.38 6.18; fv4 1.12 3.66;
my5r -0.03 17.8; ia5 0.04 14.3; fc5 2.94 4.67; fv5 1.84 2.89; ia6 0.01 30.9; fc6 0.29 59.9;
fv6 0.66 3.94; fcm6 1.83 6.57; fvm6 0.61 3.35"""
"""Name, value and relative standard deviation in percent: Table 1 of Brunot et al. (2017), first column."""

GROUPINGS = {
    "zz1r": "zz1 + ia1 + yy2 + 0.0506 m3 + 0.1013 m4 + yy3 + 0.45 mz3",
    "xx2r": "xx2 - yy2 - 0.0506 m3 - 0.0506 m4",
    "xz2r": "xz2 - 0.225 mz3 - 0.0079 m4",
    "zz2r": "zz2 + ia2 + 0.0506 m3 + 0.0506 m4 + 0.0506 m5 + 0.0506 m6",
    "mx2r": "mx2 + 0.225 m3 + 0.225 m4 + 0.225 m5 + 0.225 m6",
    "xx3r": "xx3 - yy3 + yy4 + 0.45 mz4",
    "zz3r": "zz3 + yy4 + 0.45 mz4 + 0.0506 m4",
    "my3r": "my3 + mz4 + 0.225 m4 + 0.225 m5",
    "my5r": "my5 - mz6",
}

KINDS = {
    "fv": ("viscous", "N m s/rad"),
    "fc": ("coulomb", "N m"),
    "of": ("offset", "N m"),
    "ia": ("rotor_inertia", "kg m^2"),
}


def describe(name: str, owner: str) -> tuple[str, str, str]:
    """Kind, unit and owner of a parameter from its symbol."""
    if name[:2] in KINDS:
        kind, unit = KINDS[name[:2]]
        return kind, unit, "motor 6" if "m" in name[2:] else owner
    symbol = name.rstrip("r0123456789")
    unit = "kg" if symbol == "m" else "kg m" if symbol.startswith("m") else "kg m^2"
    return "inertia", unit, owner.replace("joint", "link")


def whiteness(residual: np.ndarray, lags: int) -> tuple[np.ndarray, Whiteness]:
    """Autocorrelation up to `lags`, and a Ljung-Box verdict with the normal approximation of chi-square."""
    centred = residual - residual.mean()
    power = float(centred @ centred)
    r = np.array([float(centred[k:] @ centred[: len(centred) - k]) / power for k in range(lags + 1)])
    n = len(residual)
    q = n * (n + 2) * float(np.sum(r[1:] ** 2 / (n - np.arange(1, lags + 1))))
    z = ((q / lags) ** (1 / 3) - 1 + 2 / (9 * lags)) / np.sqrt(2 / (9 * lags))  # Wilson and Hilferty
    p = float(0.5 * np.exp(-0.717 * z - 0.416 * z * z)) if z > 0 else 0.5
    return r, Whiteness(lag1=float(r[1]), lags=lags, p_value=p, white=p > 0.01)


def make_fit(
    rng: np.random.Generator,
    joints: tuple[str, ...],
    rows: int,
    duration: float = 6.8,
    colour: float = 0.0,
    units: tuple[str, ...] | None = None,
    recording: str = "",
) -> Fit:
    """Trapezoidal motions with friction, and residuals that are autoregressive with coefficient `colour`."""
    n = len(joints)
    time = np.linspace(0.5, 0.5 + duration, rows)
    predicted = np.zeros((rows, n))
    for joint in range(n):
        phase = 2 * np.pi * (0.35 + 0.13 * (joint % 7)) * time + joint
        velocity = np.clip(2.2 * np.sin(phase), -1, 1)
        size = 20.0 / (1 + joint % 6) ** 1.1
        predicted[:, joint] = size * (0.6 * np.tanh(8 * velocity) + 0.5 * velocity + 0.5 * np.cos(phase) ** 3)
    noise = rng.standard_normal((rows, n))
    for k in range(1, rows):
        noise[k] = colour * np.arange(n) / max(n - 1, 1) * noise[k - 1] + noise[k]
    measured = predicted + 0.05 * np.sqrt(np.mean(predicted**2, axis=0)) * noise / noise.std(axis=0)
    lags = min(40, rows // 4)
    correlations, verdicts = zip(*(whiteness(r, lags) for r in (measured - predicted).T), strict=True)
    error = measured - predicted
    norm = np.linalg.norm
    return Fit(
        time=time,
        joints=joints,
        units=units or n * ("N m",),
        measured=measured,
        predicted=predicted,
        autocorrelation=np.array(correlations),
        whiteness=tuple(verdicts),
        relative_error_percent=float(100 * norm(error) / norm(measured)),
        relative_error_percent_per_joint=tuple(
            float(v) for v in 100 * norm(error, axis=0) / norm(measured, axis=0)
        ),
        recording=recording,
    )


def make_estimate(
    names: list[str], values: np.ndarray, relative: np.ndarray, fit: Fit, **more: object
) -> Estimate:
    """An estimate with a diagonal covariance."""
    n = len(fit.joints)

    def owner(name: str) -> str:
        number = int("".join(c for c in name if c.isdigit()) or 1)
        return fit.joints[min(number, n) - 1]

    kinds, units, owners = zip(*(describe(name, owner(name)) for name in names), strict=True)
    std = np.abs(values) * relative / 100
    fields: dict[str, object] = {
        "method": "least-squares",
        "names": tuple(names),
        "units": units,
        "owners": owners,
        "kinds": kinds,
        "groupings": tuple(GROUPINGS.get(name, name) for name in names),
        "values": values,
        "covariance": np.diag(std**2),
        "std_kind": "coloured",
        "white_std": std / 1.7,
        "coloured_std": std,
        "identifiable": np.isfinite(values),
        "status": Status.solved,
        "condition_number": 297.3,
        "scaled_condition_number": 48.21,
        "rows": fit.measured.size,
        "fit": fit,
        "robot": "Stäubli TX40",
        "seconds": {"read": 0.0312, "signals": 0.0281, "regressor": 0.0093, "solve": 0.0021, "total": 0.0707},
        "settings": {
            "weighting": "none",
            "rtol": 1e-10,
            "essential": True,
            "cutoff_hz": 50.0,
            "reduction": np.diag([32.0, 32.0]),
        },
        "versions": {"poinsot": "0.1.0", "numpy": "2.4.0", "pinocchio": "4.1.0", "python": "3.11.7"},
        "steps": (
            "read 45 000 rows at 5 kHz from pos_read_data.csv and curr_data.csv",
            "motor angles and torques to joint side by the reduction matrix; motor 6 turns with joints 5 and 6",
            "zero-phase Butterworth filter of order 4 at 50 Hz, two central differences; 12 samples cut at each end",
            "window 0.5 s to 7.3 s",
            "regressor columns and torques decimated by 200 (Chebyshev I, forward and backward): 170 rows a joint",
        ),
    }
    return flat_estimate(**(fields | more))


@pytest.fixture
def build_fit(rng: np.random.Generator) -> Callable[..., Fit]:
    return lambda *arguments, **more: make_fit(rng, *arguments, **more)


def make_bodies(
    rng: np.random.Generator,
    count: int,
    joints: tuple[str, ...],
    flat: int | None = None,
    impossible: int | None = None,
    prior_impossible: int | None = None,
) -> tuple[FullParameters, tuple[Body, ...]]:
    """A chain of cylinders, hanging out sideways, of which twelve random combinations a body were seen.

    `flat`, `impossible`, `prior_impossible`: which body is a plate, breaks a triangle inequality, broke it before.
    """
    chart = LogCholesky()
    sizes = np.array([0.08, 0.15, 0.15, 0.15, *6 * (0.02,)])  # a ratio, three of lengths, lengths
    prior, now = np.zeros((2, count, 10))
    placements = np.zeros((count, 4, 4))
    tip = np.eye(4)
    for l in range(count):
        mass, length = 9.0 / (1 + l % 6), 0.35 / (1 + 0.3 * (l % 6))
        across, along = mass * length**2 / 12, mass * (0.3 * length) ** 2 / 2
        prior[l] = from_physical(mass, np.array([0, 0, 0.4 * length]), np.diag([across, across, along]))
        now[l] = chart.to_inertial(chart.from_inertial(prior[l]) + rng.normal(size=10) * sizes)
        turn = 0.5 * (-1) ** l
        step = np.array([[np.cos(turn), 0, np.sin(turn), 0], [0, 1, 0, 0], [-np.sin(turn), 0, np.cos(turn), length],
                         [0, 0, 0, 1]])  # fmt: skip
        tip = tip @ step
        placements[l] = tip
    names = tuple(f"{symbol}{l + 1}" for l in range(count) for symbol in INERTIAL_SYMBOLS)
    names += tuple(f"{symbol}{k + 1}" for k in range(count) for symbol in ("ia", "fv", "fc"))
    other = np.tile([0.1, 3.0, 5.0], count)
    values = np.concatenate([now.ravel(), other])
    before = np.concatenate([prior.ravel(), np.full(3 * count, np.nan)])
    scale = np.abs(np.where(np.isnan(before), values, before)) + 0.02
    seen = rng.normal(size=(8 * count, len(values))) * (rng.random(len(values)) < 0.6)
    scaled = np.linalg.inv(np.eye(len(values)) + seen.T @ seen / 0.003)
    full = FullParameters(
        names=names,
        units=(*INERTIAL_UNITS * count, *("kg m^2", "N m s/rad", "N m") * count),
        owners=tuple(f"link_{l + 1}" for l in range(count) for _ in range(10))
        + tuple(joints[k] for k in range(count) for _ in range(3)),
        kinds=("inertia",) * (10 * count) + ("rotor_inertia", "viscous", "coulomb") * count,
        values=values,
        covariance=0.25 * scaled * np.outer(scale, scale),
        prior=before,
        prior_share=np.diag(scaled).copy(),
    )
    if flat is not None:
        now[flat] = from_physical(3.0, np.array([0.05, 0.0, 0.1]), np.diag([0.02, 0.03, 0.05]))
    for l, which in ((impossible, now), (prior_impossible, prior)):
        if l is not None:
            which[l] = from_physical(which[l][0], np.array([0.0, 0.01, 0.05]), np.diag([0.03, 0.01, 0.01]))
    bodies = []
    for l in range(count):
        of_body = slice(10 * l, 10 * l + 10)
        D = None if l in (flat, impossible) else np.linalg.inv(chart.jacobian(chart.from_inertial(now[l])))
        bodies.append(
            replace(
                body_of(f"link_{l + 1}", now[l]),
                inertial=now[l],
                prior=prior[l],
                covariance=None if D is None else D @ full.covariance[of_body, of_body] @ D.T,
                prior_share=float(full.prior_share[of_body].mean()),
                placement=placements[l],
                parent=f"link_{l}" if l else "",
            )
        )
    return full, tuple(bodies)


def make_payload(mass: float = 2.8, mass_std: float = 0.05, **fields: Any) -> Payload:
    """A load of which the data show the mass and the centre, and next to nothing of the inertia."""
    center = np.array([0.028, 0.163, 0.041])
    inertia = np.diag([0.01, 0.02, 0.02])
    return replace(
        Payload(
            "tool0",
            from_physical(mass, center, inertia),
            np.zeros((10, 10)),
            mass,
            mass_std,
            center,
            np.array([0.001, 0.004, np.nan]),
            inertia,
            np.full((3, 3), 0.05),
            ("mass", "center_of_mass.x", "center_of_mass.y"),
            physically_consistent=True,
        ),
        **fields,
    )


def make_gains(values: Sequence[float], std: Sequence[float], **fields: Any) -> DriveGains:
    """Gains that were identified, the first one without gravity's help."""
    joints = tuple(f"joint_{k}" for k in range(1, len(values) + 1))
    covariance = np.diag(np.array(std) ** 2)
    by_gravity = np.arange(len(joints)) > 0
    gains = DriveGains(joints, ("N m/A",) * len(joints), np.array(values), covariance)
    return replace(gains, **{"identified": True, "by_gravity": by_gravity, **fields})


def tx40_estimate(rng: np.random.Generator) -> Estimate:
    rows = [entry.split() for entry in TX40.replace("\n", " ").split(";")]
    joints = tuple(f"joint_{k}" for k in range(1, 7))
    fit = make_fit(rng, joints, 170, colour=0.7)
    names = [row[0] for row in rows]
    values = np.array([float(row[1]) for row in rows])
    relative = np.array([float(row[2]) for row in rows])
    held_out = make_fit(rng, joints, 150, colour=0.4, recording="second half of the recording")
    structural = (
        "xx1",
        "xy1",
        "xz1",
        "yy1",
        "yz1",
        "mx1",
        "my1",
        "mz1",
        "m1",
        "m2",
        "my2 + 0.225 mz3",
        "m6 + 0.1 mz5",
    )
    full, bodies = make_bodies(rng, 6, joints, flat=2, impossible=3, prior_impossible=4)
    return make_estimate(
        names,
        values,
        relative,
        fit,
        validation=(held_out,),
        undetermined=(
            *(Direction(c, "structural") for c in structural),
            Direction("my6 + 0.3 mx6", "unexcited"),
        ),
        bodies=(*bodies[:5], Body("link_6")),
        full=full,
        warnings=(
            "19.8 % of consecutive position samples of joint_3 repeat: the encoder is read slower than it is logged.",
        ),
        notes=("60 base parameters were reduced to the 28 that matter by backward elimination.",),
        status=Status.partly,
        payload=make_payload(),
        drive_gains=make_gains([10.4, 12.4, 9.9, 10.4, 10.5, 10.4], [2.1, 0.4, 0.3, 0.4, 0.4, 0.3]),
    )


def emps_estimate(rng: np.random.Generator) -> Estimate:
    fit = make_fit(rng, ("slide",), 24841, duration=24.8, colour=0.9, units=("N",))
    white = make_estimate(["m1"], np.ones(1), np.ones(1), fit)
    values = np.array([95.1089, 203.5034, 20.3935, -3.1648])
    std = values * np.array([0.13, 0.35, 0.9, 2.0]) / 100
    return white.updated(
        robot="EMPS",
        names=("m1", "fv1", "fc1", "off1"),
        units=("kg", "N s/m", "N", "N"),
        owners=4 * ("slide",),
        kinds=("inertia", "viscous", "coulomb", "offset"),
        groupings=("m1", "fv1", "fc1", "off1"),
        values=values,
        uncertainty=Uncertainty(np.diag(std**2), np.abs(std) * 3, is_white=True),
        identifiable=np.ones(4, dtype=bool),
    )


def humanoid_estimate(rng: np.random.Generator, rows: int = 6000) -> Estimate:
    joints = tuple(
        f"{side}_{part}_joint_{k}"
        for side in ("left", "right")
        for part in ("leg", "arm", "hand")
        for k in range(1, 6)
    )
    fit = make_fit(rng, joints, rows, duration=60.0, colour=0.5)
    names = [f"{symbol}{k}" for k in range(1, 31) for symbol in ("zz", "mx", "my", "m", "ia", "fv", "fc")]
    values = rng.normal(size=len(names)) * 10.0 ** rng.uniform(-3, 1, len(names))
    relative = 10 ** rng.uniform(-0.5, 2.2, len(names))
    values[3::7] = np.nan
    return make_estimate(
        names, values, relative, fit, robot="a humanoid", validation=(make_fit(rng, joints, rows, 60.0),)
    )


@pytest.fixture
def tx40(rng: np.random.Generator) -> Estimate:
    return tx40_estimate(rng)


@pytest.fixture
def emps(rng: np.random.Generator) -> Estimate:
    return emps_estimate(rng)


@pytest.fixture
def humanoid(rng: np.random.Generator) -> Estimate:
    return humanoid_estimate(rng, rows=1500)


@pytest.fixture
def many_bodies(rng: np.random.Generator) -> tuple[FullParameters, tuple[Body, ...]]:
    """Thirty, as of a humanoid, and all their parameters."""
    return make_bodies(rng, 30, tuple(f"joint_{k}" for k in range(1, 31)))
