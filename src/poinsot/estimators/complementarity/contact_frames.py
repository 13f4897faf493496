"""Frames in which the body rocks or slides on a corner: its gap is 0, so heights at several angles show it.

With the pose (p, theta) of a frame, and GQ as at an impact (`collisions`),

    e = (p - p_0) . n + GQ . n = l_d + b(theta) + w

in every frame of contact of a drop d. Its level l_d is its own, free, and shared with nothing: the floor drifts from
drop to drop, and what an impact finds of it is found at a blow. So only differences within a drop count. The outline
is not quite the drawn one: going round it, its deviation b wanders as a Brownian motion does, so two frames differ by
it by a variance q |theta - theta'|, the lesser way round, and frames near each other say the same thing only once; w
is white, of variance sigma^2. With Sigma_ij = sigma^2 delta_ij / trust_i - q |theta_i - theta_j| / 2 (a constant more
or less makes no difference, the level being free) and without the level,

    P = Sigma^-1 - Sigma^-1 1 1^T Sigma^-1 / (1^T Sigma^-1 1),        cost = e^T P e,   E^T P E,   E^T P e

are what a drop's frames add to its cost, and to its normal matrix and gradient in theta (`chain`). sigma and q are
variance components: theta of all else known to H_o (its normal matrix, gradient g_o), they minimize

    log det Sigma + log 1^T Sigma^-1 1 + log det (H_o + E^T P E) + e^T P e - g^T (H_o + E^T P E)^-1 g

with g = g_o + E^T P e, the restricted likelihood. trust is that of Student's t, by w.

Frames are chosen by what the corners' radius has no part in: vertical acceleration that is surely not a flight's, no
kink, by a quadratic through BESIDE frames on each side; no flight that lasts long enough to show gravity among these;
and the same part lowest even if the body were turned by TILT more or less: a face that lies on the floor, with what
may lie beneath it, tells nothing about corners.

The body is taken as rigid. Its weight presses a contact that gives way with the lag lambda of impacts in by no more
than g (2 lambda / pi)^2, under a micrometre for half a millisecond. But a body that hops by less than the tracker sees
passes as one in contact, higher by up to g T^2 / 8, T two frames or so; where hops die down as it tilts, that is a
radius which is wrong by some tenths of a millimetre.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize
from scipy.stats import chi2

from ...arrays import Indices, Matrix, Vector
from ...models.planar.shapes import support_of
from ...models.planar.walls import Wall
from .collisions import HEIGHT, OF_FLIGHTS, Outline, S, levers
from .flights import Drop, FlightModel
from .segmentation import LONG, Segmented, of_center

BESIDE = 3
"""Frames on each side that must be in contact as well."""
RUN = 3
"""Frames in a row, each with those beside it, at least."""
SURELY = 3.0
"""Standard deviations by which the vertical acceleration must be above that of a fall."""
KINKED = 0.999
"""Quantile of the misfit of a quadratic from which on there was an impact among the frames."""
TILT = 0.05
"""From lying flat [rad]."""
FREEDOM = 4.0
"""nu of Student's t, of one frame."""
ALOFT = 6.0
"""Times what the floor's height may differ by; a body whose corners would be above the floor by that even if they were
sharp is in the air, whatever the tracker did."""
NOISE, UNEVENNESS = 1e-4, 1e-4
"""At which both are begun [m], [m / rad^(1/2)]."""
LEAST = 1e-6
"""Both are above this."""
SEARCH = {"xatol": 0.02, "fatol": 0.02, "maxiter": 40}


@dataclass(frozen=True, eq=False)
class ContactFrames:
    """
    Args:
        drop, part: (N,) which, and the part that touches; drops in order. times: (N,) [s]. poses: (N, 3) as tracked.
        trust: (N,) by which each counts. noise: sigma [m]. unevenness: sqrt(q) [m / rad^(1/2)].
        precision: P of each drop that has any, in order.
    """

    drop: Int[np.ndarray, "N"]
    part: Int[np.ndarray, "N"]
    times: Float[np.ndarray, "N"]
    poses: Float[np.ndarray, "N 3"]
    trust: Float[np.ndarray, "N"]
    noise: float
    unevenness: float
    precision: tuple[Matrix, ...]

    def __len__(self) -> int:
        return len(self.drop)

    @property
    def slices(self) -> list[tuple[int, slice]]:
        """Each drop that has any, and where its frames are."""
        drops, begin, count = np.unique(self.drop, return_index=True, return_counts=True)
        return [(int(d), slice(int(i), int(i + n))) for d, i, n in zip(drops, begin, count, strict=True)]


@dataclass(frozen=True, eq=False)
class Added:
    """What frames of contact add to each drop: normal matrix (D, S, S), gradient (D, S), cost (D,)."""

    normal: Float[np.ndarray, "D s s"]
    gradient: Float[np.ndarray, "D s"]
    cost: Float[np.ndarray, "D"]


# -------------------------------------------------------------------------------------------------------- which frames


def contact_frames(
    parted: Segmented, shared: Vector, floor: float, outline: Outline, wall: Wall, gravity: float
) -> ContactFrames:
    """Of all drops; none may be found. `floor` is by how much its height may differ [m]."""
    model = replace(parted.model, offset=shared[OF_FLIGHTS][:2])
    found = [
        _in_contact(drop, of, model, float(shared[4]), outline, wall, gravity)
        for drop, of in zip(parted.drops, parted.flights, strict=True)
    ]
    frames = ContactFrames(
        np.repeat(np.arange(len(found)), [len(frames) for frames, _ in found]),
        np.concatenate([part for _, part in found]),
        np.concatenate([one.times[f] for one, (f, _) in zip(parted.drops, found, strict=True)]),
        np.concatenate([one.poses[f] for one, (f, _) in zip(parted.drops, found, strict=True)]),
        np.ones(sum(len(frames) for frames, _ in found)),
        NOISE,
        UNEVENNESS,
        (),
    )
    sharp = shared.copy()
    sharp[1] = 0.0
    height = shared[HEIGHT] * np.cos(wall.slope + shared[6])
    low = gaps(frames, sharp, outline, wall)[0] < height + ALOFT * floor
    kept = replace(
        frames,
        drop=frames.drop[low],
        part=frames.part[low],
        times=frames.times[low],
        poses=frames.poses[low],
        trust=frames.trust[low],
    )
    return weighed(kept, NOISE, UNEVENNESS)


def _in_contact(
    drop: Drop,
    flights: tuple[Indices, ...],
    model: FlightModel,
    angle_offset: float,
    outline: Outline,
    wall: Wall,
    gravity: float,
) -> tuple[Indices, Int[np.ndarray, "n"]]:
    window = np.arange(-BESIDE, BESIDE + 1)
    if len(drop.times) < len(window):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    free = np.ones(len(drop.times), dtype=bool)
    for frames in flights:
        free[frames] = len(frames) < LONG
    part = _touching(drop.poses[:, 2] + angle_offset, outline, wall)
    middle = np.arange(BESIDE, len(free) - BESIDE)
    at = middle[:, None] + window
    chosen = free[at].all(axis=1) & (part[at] == part[middle, None]).all(axis=1) & (part[middle] >= 0)
    frames = middle[chosen]
    steady = _held_up(drop.times, of_center(drop, model), frames[:, None] + window, model, gravity)
    frames = frames[steady]
    # one that is alone may be chance: of a thousand windows in flight one accelerates by three standard deviations
    run = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    frames = np.concatenate([one for one in run if len(one) >= RUN] or [frames[:0]])
    return frames, part[frames]


def _touching(theta: Vector, outline: Outline, wall: Wall) -> Int[np.ndarray, "N"]:
    """The part that reaches lowest, corners sharp; -1 where another would if the body were turned by TILT."""
    parts = outline.parts(0.0)[0]
    lowest = []
    for turned in (-TILT, 0.0, TILT):
        psi = wall.slope - 0.5 * np.pi - theta - turned
        u = np.column_stack([np.cos(psi), np.sin(psi)])
        reach = u @ parts[:, :2].T
        reach += np.array([[support_of(part, outline.harmonics, one)[0] for part in parts] for one in psi])
        lowest.append(np.argmax(reach, axis=1))
    return np.where((lowest[0] == lowest[1]) & (lowest[1] == lowest[2]), lowest[1], -1)


def _held_up(
    times: Vector, center: Matrix, at: Int[np.ndarray, "n w"], model: FlightModel, gravity: float
) -> Bool[np.ndarray, "n"]:
    """Where a quadratic explains a window of frames, and its acceleration is no flight's."""
    yes = np.zeros(len(at), dtype=bool)
    for i, window in enumerate(at):
        t = times[window] - times[window[BESIDE]]
        A = np.column_stack([np.ones(len(t)), t, 0.5 * t * t])
        x = np.linalg.lstsq(A, center[window, 1:], rcond=None)[0]
        misfit = np.sum(((center[window, 1:] - A @ x) / model.noise[1:]) ** 2, axis=0)
        std = model.noise[1] * np.sqrt(np.linalg.inv(A.T @ A)[2, 2])
        smooth = misfit < chi2.ppf(KINKED, len(t) - 3)
        yes[i] = smooth.all() and x[2, 0] > -gravity + SURELY * std
    return yes


# -------------------------------------------------------------------------------------------------- what they say


def gaps(
    of: ContactFrames, shared: Vector, outline: Outline, wall: Wall
) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N s"]]:
    """e of each frame and its derivatives by shared; the floor's height, which moves all of them alike, is left out."""
    radius, e, phi, alpha = float(shared[1]), shared[2:4], float(shared[4]), wall.slope + float(shared[6])
    t, n = np.array([np.cos(alpha), np.sin(alpha)]), np.array([-np.sin(alpha), np.cos(alpha)])
    theta, offset = of.poses[:, 2], shared[OF_FLIGHTS][:2]
    c, s = np.cos(theta), np.sin(theta)
    along = np.stack([np.column_stack([c, s]), np.column_stack([-s, c])])
    at = levers(theta + phi, of.part, e, radius, alpha, outline)
    away = of.poses[:, :2] - np.einsum("k,kia->ia", offset, along) - np.array([wall.x, wall.y])
    by = np.zeros((len(of), S))
    for column, direction in zip((1, 2, 3, 4), at.directions, strict=False):
        by[:, column] = direction @ n
    # n turns to -t, and GQ goes along t
    by[:, 6] = -(away + at.GQ) @ t
    by[:, OF_FLIGHTS][:, 0], by[:, OF_FLIGHTS][:, 1] = -along[0] @ n, -along[1] @ n
    return (away + at.GQ) @ n, by


def added(of: ContactFrames, shared: Vector, outline: Outline, wall: Wall, drops: int) -> Added:
    e, E = gaps(of, shared, outline, wall)
    out = Added(np.zeros((drops, S, S)), np.zeros((drops, S)), np.zeros(drops))
    for (d, here), P in zip(of.slices, of.precision, strict=True):
        PE, Pe = P @ E[here], P @ e[here]
        out.normal[d], out.gradient[d], out.cost[d] = E[here].T @ PE, E[here].T @ Pe, e[here] @ Pe
    return out


# ------------------------------------------------------------------------------------------------ how much they count


def weighed(of: ContactFrames, noise: float, unevenness: float) -> ContactFrames:
    """With these components, trust as it is."""
    precision = tuple(P for P, _ in _precisions(of, noise, unevenness))
    return replace(of, noise=noise, unevenness=unevenness, precision=precision)


def _precisions(of: ContactFrames, noise: float, unevenness: float) -> list[tuple[Matrix, float]]:
    """P of each drop, and log det Sigma + log 1^T Sigma^-1 1."""
    out = []
    for _, here in of.slices:
        away = np.abs(np.mod(of.poses[here, 2, None] - of.poses[here, 2] + np.pi, 2 * np.pi) - np.pi)
        # pi / 2 makes it a covariance: that of the Brownian bridge round the outline, its mean taken off
        Sigma = 0.5 * unevenness**2 * (0.5 * np.pi - away) + np.diag(noise**2 / of.trust[here])
        inverse = np.linalg.inv(Sigma)
        ones = inverse.sum(axis=1)
        out.append(
            (
                inverse - np.outer(ones, ones) / ones.sum(),
                float(np.linalg.slogdet(Sigma)[1] + np.log(ones.sum())),
            )
        )
    return out


def reweighed(
    of: ContactFrames, shared: Vector, outline: Outline, wall: Wall, H_o: Matrix, g_o: Vector
) -> ContactFrames:
    """With trust and components as residuals at `shared` say.

    Args:
        H_o, g_o: normal matrix and gradient without these frames, priors included, of what is free in `shared` and with
            zeros for what is not.
    """
    e, E = gaps(of, shared, outline, wall)
    # w given all frames is (sigma^2 / trust) P e; trust first, or a frame that is none of contact would set the rest
    white = np.concatenate([P @ e[here] for (_, here), P in zip(of.slices, of.precision, strict=True)])
    off = of.noise * white / of.trust
    of = replace(of, trust=(FREEDOM + 1) / (FREEDOM + off**2))
    free = np.diag(H_o) > 0
    scale = 1 / np.sqrt(np.diag(H_o)[free])

    def unlikely(z: Vector) -> float:
        H, g, total = H_o.copy(), g_o.copy(), 0.0
        for (_, here), (P, logs) in zip(of.slices, _precisions(of, *np.exp(z)), strict=True):
            Pe = P @ e[here]
            H, g, total = H + E[here].T @ P @ E[here], g + E[here].T @ Pe, total + logs + float(e[here] @ Pe)
        A, b = H[np.ix_(free, free)] * np.outer(scale, scale), g[free] * scale
        return float(total + np.linalg.slogdet(A)[1] - b @ np.linalg.solve(A, b))

    begin = np.log([of.noise, of.unevenness])
    simplex = begin + np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]])
    found = minimize(unlikely, begin, method="Nelder-Mead", options=SEARCH | {"initial_simplex": simplex}).x
    return weighed(of, *np.maximum(np.exp(found), LEAST))
