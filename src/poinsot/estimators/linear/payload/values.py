"""Mass, centre of mass and inertia of a load, with their uncertainty, from draws of its ten parameters.

    c = h / m,    I_c = I - m (|c|^2 1 - c c^T)

A parameter that the data do not determine is NaN, and so are quantities that depend on it. Intervals are relative to
the load's own size: with r = sqrt(tr I / 2m), the rms distance of its matter from the link's origin, and D the largest
principal moment, the data determine

    the mass           if its 95 % interval is within a third of its value
    c_x, c_y, c_z      if theirs are within a third of r
    I_c xx, ...        if theirs are within a third of D, and all ten are physically possible

Notes on them and on drive gains are also written here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....arrays import Indices, Matrix, Vector
from ....estimate import NORMAL_95, DriveGains, Estimate, Payload
from ....estimate.fit import MOVING
from ....exceptions import listing
from ....inertia.parameters import body, inertia_matrix
from ....parameters import INERTIAL_SYMBOLS
from ....regression.attachment import LOAD_NAMES
from ....regression.inverse_dynamics import InverseDynamics
from ....regression.system import System
from .moments import Moments

HALF_WIDTH = 1 / 3

QUANTITIES = (
    "mass",
    *(f"center_of_mass.{axis}" for axis in "xyz"),
    *(f"inertia_at_com.{symbol}" for symbol in INERTIAL_SYMBOLS[4:]),
)


def load_places(problem: InverseDynamics, system: System) -> tuple[Indices, Vector]:
    """(10,) indices of the load's parameters in the estimated ones, -1 if grouped; and (10,) held values, else NaN."""
    assert problem.attachment is not None
    place, known = np.full(10, -1), np.full(10, np.nan)
    names = system.base.names  # `mLr` where more is grouped into mL, which is then not determined by itself
    for k, name in enumerate(LOAD_NAMES):
        if name in problem.parameters.held:
            known[k] = problem.parameters.held[name]
        elif name in names:
            place[k] = names.index(name)
    return place, known


def load_values(problem: InverseDynamics, system: System, theta: np.ndarray) -> np.ndarray:
    """(..., 10) the load's parameters from values of the system's columns (..., k); NaN where not determined."""
    place, known = load_places(problem, system)
    return np.where(place >= 0, theta[..., place], known)


def quantities(pi: np.ndarray) -> np.ndarray:
    """(..., 10) the `QUANTITIES` of ten parameters (..., 10): m, c, and xx, xy, yy, xz, yz, zz of I_c."""
    with np.errstate(divide="ignore", invalid="ignore"):
        c = pi[..., 1:4] / pi[..., :1]
    m, (x, y, z) = pi[..., 0], np.moveaxis(c, -1, 0)
    # entry by entry, for the matrix form m (|c|^2 1 - c c^T) would make NaN of all entries where one c_i is NaN
    steiner = [y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]
    at_com = pi[..., 4:] - m[..., None] * np.stack(steiner, axis=-1)
    return np.concatenate([pi[..., :1], c, at_com], axis=-1)


def matrix(six: np.ndarray) -> np.ndarray:
    """(3, 3) of xx, xy, yy, xz, yz, zz."""
    return np.asarray(inertia_matrix(np.append(np.zeros(4), six)))


def payload_of(link: str, pi: Vector, draws: Matrix, held: np.ndarray, widening: float = 1.0) -> Payload:
    """The load with its uncertainty.

    Args:
        pi: (10,) NaN where not determined.
        draws: (d, 10) parameters of the bootstrap samples.
        held: (10,) known values, else NaN.
        widening: factor on the spread of the draws.
    """
    value, spread = quantities(pi), widening * quantities(draws).std(axis=0)
    of_pi: Matrix = widening**2 * np.atleast_2d(np.cov(draws.T))
    # quantities that follow only from held parameters: those that are not NaN
    exact = np.isfinite(quantities(np.where(held, 1.0, np.nan)))
    # 0 in place of rounding errors of equal draws
    spread = np.where(exact & np.isfinite(value), 0.0, spread)
    of_pi[held] = of_pi[:, held] = 0.0
    whole = body(link, pi if np.isfinite(pi).all() else None)
    determined = np.abs(NORMAL_95 * spread) < HALF_WIDTH * _scales(pi, value)
    # an impossible body's inertia is not determined, however narrow its interval is
    if whole.physically_consistent is False:
        determined[4:] = False
    return Payload(
        link,
        pi,
        of_pi,
        float(value[0]),
        float(spread[0]),
        value[1:4],
        spread[1:4],
        matrix(value[4:]),
        matrix(spread[4:]),
        tuple(np.array(QUANTITIES)[determined & ~exact].tolist()),
        tuple(np.array(QUANTITIES)[exact].tolist()),
        whole.physically_consistent,
        whole.reasons,
        whole.min_pseudo_inertia_eigenvalue,
    )


def _scales(pi: Vector, value: Vector) -> Vector:
    """(10,) scale to which the interval of each quantity is relative; zero where it is not known."""
    mass, center = abs(value[0]), np.nan_to_num(value[1:4])
    trace = np.nan_to_num(pi[[4, 6, 9]]).sum()
    r = np.sqrt(max(center @ center, 0.5 * trace / mass)) if mass > 0 else 0.0
    six = np.nan_to_num(value[4:])
    # from known entries only: NaN in one would leave no scale for the others
    D = np.abs(np.linalg.eigvalsh(matrix(six))).max()
    return np.concatenate([[mass], np.full(3, r), np.full(6, D)])


def with_load(estimate: Estimate, payload: Payload, gains: DriveGains, first: Sequence[str]) -> Estimate:
    """An estimate with its load and the drives' gains, and notes on them; those of `first` come first."""
    missing = [name for name in QUANTITIES if name not in (*payload.identifiable, *payload.known)]
    notes, warnings = [*estimate.notes, *first], list(estimate.warnings)
    shown = gains.identified or "1" not in gains.units  # where torques were measured, gains are plain ones
    if shown:
        by_gravity = np.ones(len(gains.values), dtype=bool) if gains.by_gravity is None else gains.by_gravity
        for k in np.flatnonzero(gains.poorly_known & gains.identified):
            why = "" if by_gravity[k] else ": gravity does not act on this joint, only inertia does"
            to = f"{100 * NORMAL_95 * gains.std[k] / abs(gains.values[k]):.0f} % (95 %)"
            notes.append(f"The drive gain of {gains.joints[k]} is poorly known, to +- {to}{why}.")
        if np.any(gains.values < 0):
            names = np.array(gains.joints)[gains.values < 0].tolist()
            warnings.append(f"the drive gain of {listing(names)} is negative: currents have opposite sign")
    if missing:
        notes.append(
            f"These recordings do not determine {listing(_together(missing), 20)} of the load to a third of its own "
            "size: their intervals are given nevertheless."
        )
    problem = estimate.problem
    if isinstance(problem, InverseDynamics) and np.any(np.abs(problem.speeds) <= MOVING):
        notes.append(
            f"At standstill (joints slower than {MOVING:g} rad/s or m/s) dry friction takes any value up to its "
            "Coulomb value, either way: efforts are indeterminate there, so errors are also given for moving joints."
        )
    if payload.physically_consistent is False:
        warnings.append(
            f"the load is physically impossible: {payload.reasons[0]}; possible = true gives the best possible one"
        )
    return estimate.updated(payload, gains if shown else None, notes=tuple(notes), warnings=tuple(warnings))


def resampling_note(estimate: Estimate, gains: DriveGains, moments: Moments, draws: int) -> str:
    """Note on the bootstrap, and on the intervals that white residuals would give."""
    motions = len(np.unique(moments.motions))
    known = estimate if gains.white_std is None else gains
    std, white = known.std, known.white_std
    assert white is not None
    ratio = float(np.median(std[white > 0] / white[white > 0])) if (white > 0).any() else 1.0
    return (
        f"Intervals are from {draws} draws of {len(moments.blocks)} blocks of {moments.block_s:.2g} s, taken from "
        f"{'one motion' if motions == 1 else f'{motions} motions'} (recordings of the same motion are drawn together); "
        f"for white residuals they would be {max(ratio, 1 / ratio):.1f} times {'shorter' if ratio > 1 else 'longer'} "
        "(median)."
    )


def _together(names: Sequence[str]) -> list[str]:
    """`inertia_at_com` for all its entries."""
    # the name of the whole is easier to read than nine names of entries
    split = {other.partition(".")[0] for other in QUANTITIES if other not in names}
    wholes = ((name, name.partition(".")[0]) for name in names)
    return list(dict.fromkeys(name if whole in split else whole for name, whole in wholes))
