"""Intervals of the actuator of one group of joints, and what the recordings do not determine.

**Coloured residuals.** With the whitened Jacobian J (N, p), the information P of priors (c times their own, so that it
has its weight against samples of which c together say one thing), and Gamma the autocovariance of the residuals,
tapered at a lag that they choose themselves (`poinsot.statistics`: Newey and West 1987, Politis 2003, Kiefer and
Vogelsang 2005),

    cov = H^-1 M H^-1,    H = J^T J + P,    M = sum over t, u of J_t^T Gamma(u - t) J_u + c P

Residuals of a servo at rest are constant for long, so they are never white. Rounding to an encoder's steps of size d is
a function of the position: with noise of standard deviation s before it, its mean error has the variance (first
harmonic of the sawtooth)

    d^2 / (2 pi^2) exp(-4 pi^2 s^2 / d^2)

and is one and the same while the joint stays within a part of a step. It is small where noise dithers it, and too small
for an autocorrelation to show, but it does not average out at rest: it is added to M, one product a stay.

**Errors of laboratory and description** are effects beside the parameters (`effects`), of all groups together. What
wrong masses or a tilted base explain of the residuals is no evidence for a torque limit.

**The next recording.** Friction changes with temperature and posture, a supply with its charge. Each recording is
estimated alone, from where the estimate of all of them ended; a value of the next recording has the interval of
`predictive_std`, which contains how much these values vary beyond chance. Single recordings would end anywhere along a
scale of torques that they do not show: it is held at that of all of them, and torques stand for their ratios to the
stiffness.

**Ratios.** Positions show torque parameters over the stiffness, which are coordinates of the search, even where they do
not show the scale of torques. Beside them stands the time by which a slow motion is late,

    delay + lag + (velocity_gain + damping) / stiffness

since k (u - q) = (d + v) dq/dt in a slow motion at constant speed. Recordings often show this sum far better than how
delay, damping and gains share in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from ...arrays import Matrix, Vector
from ...diagnosis.effect_fit import BETTER
from ...diagnosis.parameters import FEWEST_RECORDINGS
from ...estimate import Direction, Status
from ...estimate.uncertainty import unobservable_directions
from ...models.servo.actuator import parameter as row_of
from ...models.servo.rollout import place_of
from ...solve import Minimum, Stop, stop_requested
from ...solve.dense import DenseIterate
from ...statistics import correlated_products, grid_step, predictive_std, tapered_autocovariance
from .effects import DESCRIPTION_EFFECTS, fit_of_effects
from .friction_choice import excess
from .problem import ActuatorProblem
from .result import Ratio
from .search import SETTLED, Coordinates, Fitted, GroupProblem, Search, is_torque, softened
from .simulated import SimulatedMotions

UNKNOWN = 1e6
"""Standard deviation of a coordinate that no sample shows."""

UNLIMITED = 1e9
"""Coordinate of a torque limit that is never reached."""

RATE = "derivative_gain"
"""Parameter of a controller that acts on the rate of its command, which a file of MJCF does not hold."""

LIMIT_REACHED = 25.0
"""Twice the log-likelihood that a torque limit must gain to be reported. One that only cuts the highest peak gains
little, and its interval is not symmetric."""

DETERMINED = 1.0
"""A parameter is known if its standard deviation is below its value (its range of starts, where it may be zero)."""

SMALLEST = 1e-6
"""Size of a ratio that was estimated as 0."""


def coloured_covariance(
    jacobians: Sequence[Matrix],
    residuals: Sequence[Vector],
    prior: Matrix,
    correlation: float = 1.0,
    more: Matrix | float = 0.0,
    rates: Sequence[tuple[Matrix, Vector]] = (),
) -> tuple[Matrix, Matrix]:
    """(p, p) covariances for coloured and for white residuals.

    Args:
        jacobians, residuals: (N_k, p), (N_k,) whitened, of every strand of samples that follow each other.
        more: (p, p) added to M: see `rounding_products`.
        prior: (p, p) information of priors as it is in the cost, `correlation` times their own.
        rates: (N_k, p), (N_k,) of a second measurement at the same samples, 0 where there is none (`aligned`).
    """
    channels = [(jacobians, residuals)]
    if rates:
        channels.append(([J for J, _ in rates], [r for _, r in rates]))
    counts = [len(each) for each in residuals]
    J = np.concatenate([each for blocks, _ in channels for each in blocks])
    e = np.stack([np.concatenate(parts) for _, parts in channels], axis=1)
    H = J.T @ J + prior
    variance = float(np.sum(e**2)) / max(np.count_nonzero(e) - J.shape[1], 1)
    gamma, allowance = tapered_autocovariance(e, counts)
    strands = enumerate(
        np.stack(blocks, axis=1) for blocks in zip(*(blocks for blocks, _ in channels), strict=True)
    )
    M = correlated_products(strands, gamma) * allowance + correlation * prior + more
    inverse = linalg.pinvh(H)
    return inverse @ M @ inverse, inverse * variance


def rounding_products(J: Matrix, position: Vector, step: float, rms: float, level: float) -> Matrix:
    """(p, p) what rounding adds to M for one strand.

    Args:
        J: (N, p) whitened. position: (N,) simulated [rad]. step: of the rounding [rad].
        rms: of the residuals, of which rounding is a part [rad]. level: by which they were whitened [rad].
    """
    p = J.shape[1]
    if step <= 0:
        return np.zeros((p, p))
    noise = max(rms**2 - step**2 / 12, 0.0)
    variance = step**2 / (2 * np.pi**2) * np.exp(-4 * np.pi**2 * noise / step**2)
    stays = np.concatenate([[0], np.flatnonzero(np.diff(np.floor(4 * position / step))) + 1])
    sums = np.add.reduceat(J, stays, axis=0)
    return variance / level**2 * (sums.T @ sums)


def aligned(values: Vector | Matrix, mask: np.ndarray) -> np.ndarray:
    """Rows of values where the mask (N,) is true, and rows of 0 elsewhere."""
    found = np.zeros((len(mask), *values.shape[1:]))
    found[mask] = values
    return found


def covariances(group: GroupProblem, z: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Of all unknowns for coloured and for white residuals, and the normal matrix."""
    J, r = group.jacobian(z), group.residuals(z)
    samples = len(r) - group.size
    # positions and velocities of every strand
    ends = np.cumsum([count for strand in group.strands for count in strand.rows])[:-1]
    H = J.T @ J
    # without any effect on the samples: known to no accuracy
    seen = np.diag(H) > 1e-16 * np.diag(H).max()
    scale = np.sqrt(np.diag(H)[seen])
    blocks = [block / scale for block in np.split(J[:samples, seen], ends)]
    priors = J[samples:, seen] / scale
    parts = np.split(r[:samples], ends)
    rounding = np.zeros((len(scale), len(scale)))
    for strand, rollout, block in zip(group.strands, group.rollouts(z), blocks[::2], strict=True):
        measured, position = strand.measured[strand.mask], rollout.position[strand.mask]
        rms, level = float(np.sqrt(np.mean((measured - position) ** 2))), float(group.sigma[strand.joint])
        rounding += rounding_products(block, position, grid_step(measured), rms, level)
    prior = priors.T @ priors + 1e-14 * np.eye(len(scale))
    rates = tuple(
        (aligned(block, strand.rate_mask[strand.mask]), aligned(part, strand.rate_mask[strand.mask]))
        for strand, block, part in zip(group.strands, blocks[1::2], parts[1::2], strict=True)
        if strand.rate is not None
    )
    rates = rates if len(rates) == len(group.strands) else ()
    found = []
    for C in coloured_covariance(blocks[::2], parts[::2], prior, group.correlation, rounding, rates):
        whole = np.diag(np.where(seen, 0.0, UNKNOWN**2))
        whole[np.ix_(seen, seen)] = C / np.outer(scale, scale)
        found.append(whole)
    return found[0], found[1], H


HELD_SCALE = 1e-4
"""Standard deviation of a log stiffness that is held."""

Quantities = Callable[[Vector], tuple[Vector, Matrix]]
"""(k,) values at coordinates (p,), and their slopes (k, p)."""


@dataclass(frozen=True, eq=False)
class RecordingsAlone:
    """Estimates of each recording alone.

    Args:
        x: (R, p) coordinates of each. covariances: (R, p, p) by chance.
    """

    x: Matrix
    covariances: np.ndarray

    @classmethod
    def of(
        cls,
        group: GroupProblem,
        z: Vector,
        search: Search,
        *,
        scale_known: bool,
        stop: Stop | None,
    ) -> RecordingsAlone:
        """Refine each recording of a group; none, where they are too few.

        Args:
            z: coordinates and starts of all recordings together.
            scale_known: whether the recordings show the scale of torques.
        """
        p, joints, x, found = group.coordinates.size, len(group.coordinates.joints), [], []
        if (k := group.coordinates.scale) is not None and not scale_known:
            mean, std = group.mean.copy(), group.std.copy()
            mean[k], std[k] = z[k], HELD_SCALE
            group = replace(group, mean=mean, std=std)
        recordings = len(group.strands) // joints
        for first in range(0, len(group.strands) if recordings >= FEWEST_RECORDINGS else 0, joints):
            if stop_requested(stop):
                break
            alone = replace(group, strands=group.strands[first : first + joints])
            own = np.concatenate([z[:p], z[p + 2 * first : p + 2 * (first + joints)]])
            _, minimum = search.refine(alone, own, label=f"recording {first // joints + 1} alone", stop=stop)
            x.append(minimum.at.x[:p])
            found.append(covariances(alone, minimum.at.x)[0][:p, :p])
        return cls(np.array(x).reshape(-1, p), np.array(found).reshape(-1, p, p))

    def next_std(self, quantities: Quantities, center: Vector, size: Vector) -> Vector:
        """(k,) half widths of the 95 % intervals for the next recording's values, over 1.96.

        NaN where fewer than four recordings show a value: with a standard deviation below its size.

        Args:
            center: (k,) of the intervals. size: (k,) of the values.
        """
        evaluated = [quantities(x) for x in self.x]
        found = np.full(len(center), np.nan)
        if len(evaluated) < FEWEST_RECORDINGS:
            return found
        values = np.array([value for value, _ in evaluated])
        slopes = np.array([slope for _, slope in evaluated])
        std = np.sqrt(np.maximum(np.einsum("rkp,rpq,rkq->rk", slopes, self.covariances, slopes), 0.0))
        for k, seen in enumerate((std < size).T):
            if seen.sum() >= FEWEST_RECORDINGS:
                own = values[seen, k : k + 1], std[seen, k : k + 1], center[k : k + 1]
                found[k] = predictive_std(*own)[1].item()
        return found


@dataclass(frozen=True, eq=False)
class GroupResult:
    """What was found of one group.

    Args:
        name: of the group. unit: of the positions of its first joint.
        z: coordinates and starts. coloured, white: (p, p) covariances of the coordinates for coloured and for white
            residuals. total: (p, p) with errors of laboratory and description.
        information: (p, p) whitened normal matrix of the coordinates.
        absent: (p,) whether it is a torque limit without which the samples are as likely.
        alone: each recording alone.
        between: (p, p) covariance of the coordinates of one more recording, from blocks that differ; None: not known.
    """

    name: str
    unit: str
    group: GroupProblem
    z: Vector
    status: Status
    iterations: int
    coloured: Matrix
    total: Matrix
    white: Matrix
    information: Matrix
    absent: np.ndarray
    alone: RecordingsAlone
    between: Matrix | None = None

    @classmethod
    def of(
        cls,
        problem: ActuatorProblem,
        search: Search,
        name: str,
        group: GroupProblem,
        minimum: Minimum[DenseIterate],
        stop: Stop | None,
    ) -> GroupResult:
        """Intervals of one group by chance, over all that its scale may be."""
        coordinates, z, status, iterations = (
            group.coordinates,
            minimum.at.x,
            minimum.status,
            minimum.iterations,
        )
        group = group.at_level_of(z)
        p = coordinates.size
        free = None if stop_requested(stop) else _without_limit(problem, search, group, z)
        absent = np.array(
            [free is not None and parameter == "torque_limit" for parameter, _ in coordinates.columns]
        )
        if free is not None:
            z, status, iterations = free.at.x, free.status, iterations + free.iterations
            group = group.at_level_of(z)
        steps = None if stop_requested(stop) else _without_rate(problem, search, group, z)
        if steps is not None:
            absent = np.delete(absent, coordinates.columns.index((RATE, "")))
            group, minimum = steps
            coordinates, z, status = group.coordinates, minimum.at.x, minimum.status
            p, iterations = coordinates.size, iterations + minimum.iterations
        # at a kink no step of the linearization lowers the cost, and the minimum is told by trying
        if stop_requested(stop):
            status = Status.interrupted
        elif status in (Status.stalled, Status.step_limit) and group.largest_decrease(z) < SETTLED:
            status = Status.solved
        coloured, white, H = (matrix[:p, :p] for matrix in covariances(group, z))
        alone = RecordingsAlone.of(group, z, search, scale_known=coordinates.shows_scale(coloured), stop=stop)
        unit = problem.units[problem.joints.index(coordinates.joints[0])]
        return cls(
            name,
            unit,
            group,
            z,
            status,
            iterations,
            coloured,
            coloured,
            white,
            H,
            absent,
            alone,
        )

    @property
    def scale_known(self) -> bool:
        """See `SCALE_KNOWN`."""
        return self.group.coordinates.shows_scale(self.coloured)

    @cached_property
    def std(self) -> Vector:
        """(p,) of the parameters."""
        return np.sqrt(np.diag(self.in_units(self.total)))

    @cached_property
    def size(self) -> Vector:
        """(p,) what standard deviations of the parameters are compared with."""
        names = (name for name, _ in self.group.coordinates.columns)
        return np.array([size_of(self.group, *pair) for pair in zip(names, self.natural, strict=True)])

    @cached_property
    def without_scale(self) -> np.ndarray:
        """(p,) whether it is a torque of a group that does not show the scale of its torques."""
        columns = self.group.coordinates.columns
        return np.array([not self.scale_known and is_torque(name) for name, _ in columns])

    @cached_property
    def identifiable(self) -> np.ndarray:
        """(p,) of the parameters; torques without a scale are not."""
        return (self.std < DETERMINED * self.size) & (self.std > 0) & ~self.absent & ~self.without_scale

    @cached_property
    def next_std(self) -> Vector:
        """(p,) of the parameters for the next recording; NaN where it is not known."""
        coordinates = self.group.coordinates

        def natural(x: Vector) -> tuple[Vector, Matrix]:
            return coordinates.natural(x), coordinates.slope(x)

        by_chance = np.diag(self.in_units(self.coloured))
        systematic = np.sqrt(np.maximum(self.std**2 - by_chance, 0.0))
        following = np.hypot(self.alone.next_std(natural, self.natural, self.size), systematic)
        # at a scale that is held torques have less than their own intervals, which contain all scales
        following = np.where(self.without_scale, following, np.maximum(following, self.std))
        following[self.absent] = np.nan
        return following

    @property
    def x(self) -> Vector:
        """(p,) coordinates."""
        return self.z[: self.group.coordinates.size]

    @property
    def natural(self) -> Vector:
        """(p,) parameters in their units."""
        return self.group.coordinates.natural(self.x)

    @property
    def reported(self) -> Vector:
        """(p,) the same, NaN for a torque limit that is not reached."""
        return np.where(self.absent, np.nan, self.natural)

    def in_units(self, covariance: Matrix) -> Matrix:
        """(p, p) covariance of the parameters, from that of the coordinates."""
        slope = self.group.coordinates.slope(self.x)
        return slope @ covariance @ slope.T

    def undetermined(self) -> list[Direction]:
        """The scale of torques, and combinations of the other coordinates that are not determined.

        Combinations are eigenvectors of the covariance in units of the parameters' sizes, with eigenvalues above 1.
        """
        coordinates, found = self.group.coordinates, []
        columns = coordinates.columns
        if not self.scale_known:
            torques = ", ".join(f"{self.name}.{name}" for name, _ in columns if is_torque(name))
            found.append(Direction(f"common scale of {torques}", "unexcited"))
        if self.absent.any():
            found.append(Direction(f"{self.name}.torque_limit (hardly reached)", "unexcited"))
        kept = [k for k in range(len(columns)) if k != coordinates.scale and not self.absent[k]]
        if not kept:
            return found
        names = [
            f"{columns[k][1] or self.name}.{columns[k][0]}"
            + (" / stiffness" if coordinates.ratios[k] else "")
            for k in kept
        ]
        size = np.array([max(size_of(self.group, columns[k][0], float(self.x[k])), SMALLEST) for k in kept])
        relative = self.total[np.ix_(kept, kept)] / np.outer(size, size)
        values, vectors = np.linalg.eigh(relative)
        open_ = vectors[:, values > DETERMINED**2] * size[:, None]
        return found + list(unobservable_directions(names, size, open_, ()))

    def ratios(self) -> list[Ratio]:
        """Ratios to the stiffness, where it is estimated, and the lateness of slow motions, of the first joint."""
        coordinates, x = self.group.coordinates, self.x
        scaled = np.flatnonzero(coordinates.ratios & ~self.absent)
        names = [coordinates.columns[k][0] for k in scaled]
        labels = [(f"{name} / stiffness", _per_stiffness(name, self.unit)) for name in names]
        if terms := _terms(coordinates):
            labels.append((terms, "s"))

        def quantities(x: Vector) -> tuple[Vector, Matrix]:
            values, slopes = x[scaled], np.eye(len(x))[scaled]
            if not terms:
                return values, slopes
            late, slope = lateness(coordinates, x)
            return np.append(values, late), np.vstack([slopes, slope])

        values, slopes = quantities(x)
        std, systematic = (
            # rounding may leave less than nothing
            np.sqrt(np.maximum(np.einsum("kp,pq,kq->k", slopes, C, slopes), 0.0))
            for C in (self.total, self.total - self.coloured)
        )
        following = np.hypot(self.alone.next_std(quantities, values, np.abs(values)), systematic)
        if self.between is not None:
            from_blocks = np.sqrt(std**2 + np.einsum("kp,pq,kq->k", slopes, self.between, slopes))
            following = np.where(np.isfinite(following), following, from_blocks)
        following = np.maximum(following, std)
        return [
            Ratio(self.name, name, unit, value, s, s < abs(value), later if np.isfinite(later) else None)
            for (name, unit), value, s, later in zip(
                labels, values.tolist(), std.tolist(), following.tolist(), strict=True
            )
        ]


def _without_limit(
    problem: ActuatorProblem, search: Search, group: GroupProblem, z: Vector
) -> Minimum[DenseIterate] | None:
    """The minimum without a torque limit, where an open one explains no more than chance or the description do.

    Wrong masses or a tilted base bend a slow motion as a limit does, so both minima are compared with the errors of the
    description open, too. None: the limit is reached.
    """
    columns = group.coordinates.columns
    if ("torque_limit", "") not in columns:
        return None
    without = z.copy()
    without[columns.index(("torque_limit", ""))] = UNLIMITED
    _, found = search.refine(group, without)

    def gain(cost: Callable[[Vector], float]) -> float:
        return 2 * (cost(found.at.x) - cost(z)) / group.correlation

    reached = gain(lambda each: group.dense().at(each).cost) > LIMIT_REACHED and (
        gain(lambda each: cost_with_description(problem, group, each)) > LIMIT_REACHED
    )
    return None if reached else found


def cost_with_description(problem: ActuatorProblem, group: GroupProblem, z: Vector) -> float:
    """Least cost of a group's positions to first order about z (size,), with errors of the description open."""
    at = SimulatedMotions(problem, ((group, z),))
    fit = fit_of_effects(at, effects=DESCRIPTION_EFFECTS)
    sigma = np.array([group.sigma[group.coordinates.joints.index(joint)] for joint in at.joints])
    x, _ = fit.solve(fit.everything, sigma)
    r, _ = softened((fit.residuals(fit.everything, x) / sigma).ravel(), group.huber)
    # a row stands for those that are left out, and a prior counts as much as samples that say one thing
    priors = fit.information * (x - fit.means) ** 2
    return 0.5 * (at.stride * float(r @ r) + group.correlation * float(priors.sum()))


def _without_rate(problem: ActuatorProblem, search: Search, group: GroupProblem, z: Vector) -> Fitted | None:
    """The group whose controllers do not act on the rates of their commands, which they track as steps.

    None where a gain on the rate explains more than chance does, and `BETTER`; where it is not estimated, or the time
    in which a setpoint moves to a command was given.
    """
    coordinates, p = group.coordinates, group.coordinates.size
    first, ramp = coordinates.joints[0], coordinates.ramps[0]
    if RATE not in coordinates.open or not ramp or problem.setting(problem.held, "ramp", first) is not None:
        return None
    place = coordinates.columns.index((RATE, ""))
    kept = np.delete(np.arange(p), place)
    places = [problem.joints.index(joint) for joint in coordinates.joints]
    commands = (motion.commands[k] for motion in problem.motions for k in places)
    open_ = tuple(name for name in coordinates.open if name != RATE)
    trial = replace(
        group,
        coordinates=replace(coordinates, open=open_, ramps=(0.0,) * len(places)),
        strands=tuple(
            replace(strand, setpoint=own.setpoint())
            for strand, own in zip(group.strands, commands, strict=True)
        ),
        mean=group.mean[kept],
        std=group.std[kept],
    )
    theta, columns = coordinates.natural(z[:p]), coordinates.columns
    stiffness = float(coordinates.of_joint(theta, 0)[place_of("stiffness")])
    # on a slow setpoint a gain on the rate acts as if there were less damping, and the setpoint were earlier
    earlier = theta[place] / stiffness - 0.5 * ramp
    for parameter, change in (("damping", theta[place]), ("delay", -earlier)):
        if (parameter, "") in columns:
            theta[columns.index((parameter, ""))] += change
    begin = np.concatenate([np.delete(coordinates.from_natural(theta), place), z[p:]])
    dense = trial.dense()
    trial, found = search.refine(trial, np.clip(begin, dense.lower, dense.upper))
    trial = trial.at_level_of(found.at.x)
    close = found.at.cost < (1 + BETTER) * group.dense().at(z).cost
    return (trial, found) if close or excess(trial, found.at.x, group, z) <= 0 else None


def size_of(group: GroupProblem, name: str, value: float) -> float:
    """What a parameter's standard deviation is compared with."""
    if name in ("zero", "delay", "lag", "dead_band", "backlash"):
        interval = float(np.median(np.diff(group.strands[0].steps.time)))
        return interval if name in ("delay", "lag") else 10 * float(group.sigma.max())
    return abs(value)


TIMES, RESISTANCES = ("delay", "lag"), ("velocity_gain", "damping")


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
