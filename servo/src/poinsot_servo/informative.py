"""Choose the recordings to fit: those from which the others can be predicted best.

With S_r the sensitivities of a recording's positions to a joint's parameters, at parameters in the middle of what is
likely, and errors of the model of size sigma_r that last a second,

    H_r = S_r^T S_r / (sigma_r^2 rate),    C = (P + sum of H_r over the chosen)^-1,    e_s^2 = mean of diag(S_s C S_s^T)

is the variance of the prediction of another recording s. The recordings are chosen that give the least mean of
e_s / sigma_s over recordings and joints (I-optimality). A model of an actuator leaves a part of what the actuator does,
so sigma_r is a tenth of the error of "position = command" in the recording, and a jerky recording counts less. What was
fitted well or badly has no influence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from poinsot.arrays import Matrix
from poinsot.exceptions import InvalidMethod

from .problem import ActuatorProblem
from .search import LEAST_LEVEL, GroupProblem, Ranges, group_problem

ERROR_SHARE = 0.1
"""sigma_r, in parts of the rms of "position = command": what a model of an actuator usually leaves."""


@dataclass(frozen=True)
class Choice:
    """Recordings to fit.

    Args:
        names: of the recordings.
        expected_error: mean of e_s / sigma_s over the other recordings and the joints.
        typical_error: the same for the median of all choices.
        shows: recording -> parameters that it determines better than the others that were chosen.
    """

    names: tuple[str, ...]
    expected_error: float
    typical_error: float
    shows: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        parts = [f"{name} ({', '.join(shows)})" if shows else name for name, shows in self.shows.items()]
        return (
            f"{' and '.join(parts)}: from these the others are predicted best, with {self.expected_error:.2f} of the "
            f"model's error; a median choice has {self.typical_error:.2f}"
        )


@dataclass(frozen=True, eq=False)
class Information:
    """What each recording shows of each joint's parameters.

    Args:
        names: (R,) of the recordings. parameters: of each group.
        moments: (G)(R, p, p) mean squares of sensitivities in units of sigma_r.
        seconds: (R,) lengths of the recordings. prior: (G)(p, p) P.
    """

    names: tuple[str, ...]
    parameters: tuple[tuple[str, ...], ...]
    moments: tuple[np.ndarray, ...]
    seconds: np.ndarray
    prior: tuple[Matrix, ...]

    @staticmethod
    def of(problem: ActuatorProblem) -> Information:
        """From all recordings of a problem."""
        motions = problem.motions
        loads = [problem.measured_loads(motion) for motion in motions]
        parameters, moments, priors = [], [], []
        for _, joints in problem.groups:
            group = group_problem(problem, joints, motions, loads)
            ranges = Ranges.of(group)
            x, spread = _middle(group, ranges)
            moments.append(_moments(group, x, len(joints)))
            priors.append(np.diag(1.0 / spread**2))
            parameters.append(tuple(name for name, _ in group.coordinates.columns))
        seconds = np.array([motion.steps.time[-1] - motion.steps.time[0] for motion in motions])
        names = tuple(motion.name for motion in motions)
        return Information(names, tuple(parameters), tuple(moments), seconds, tuple(priors))

    def choose(self, count: int = 2, among: Sequence[str] | None = None) -> Choice:
        """The best `count` of some recordings, for all of these.

        Args:
            among: names; None: all.

        Raises:
            InvalidMethod: if there are fewer than `count` + 1 recordings.
        """
        names = self.names if among is None else tuple(name for name in self.names if name in set(among))
        if len(names) <= count:
            raise InvalidMethod(
                f"{count} recordings are chosen to predict others, and there are only {len(names)}; give more"
            )
        at = [self.names.index(name) for name in names]
        errors = {chosen: self._error(chosen, at) for chosen in combinations(at, count)}
        best = min(errors, key=lambda chosen: errors[chosen])
        return Choice(
            tuple(self.names[r] for r in best),
            errors[best],
            float(np.median(list(errors.values()))),
            self._shows(best),
        )

    def _error(self, chosen: tuple[int, ...], among: Sequence[int]) -> float:
        others = [r for r in among if r not in chosen]
        squares = []
        for M, P in zip(self.moments, self.prior, strict=True):
            C = np.linalg.inv(P + np.einsum("rij,r->ij", M[list(chosen)], self.seconds[list(chosen)]))
            squares.append(np.einsum("rij,ji->r", M[others], C))
        return float(np.mean(np.sqrt(np.maximum(squares, 0.0))))

    def _shows(self, chosen: tuple[int, ...]) -> dict[str, tuple[str, ...]]:
        """Recording -> parameters whose standard deviation from it alone is smallest, for most joints."""
        votes: dict[str, list[int]] = {}
        for names, M, P in zip(self.parameters, self.moments, self.prior, strict=True):
            variances = [np.diag(np.linalg.inv(P + M[r] * self.seconds[r])) for r in chosen]
            for name, best in zip(names, np.argmin(variances, axis=0), strict=True):
                votes.setdefault(name, []).append(chosen[int(best)])
        winner = {name: max(set(each), key=each.count) for name, each in votes.items()}
        return {self.names[r]: tuple(name for name, who in winner.items() if who == r) for r in chosen}


def _middle(group: GroupProblem, ranges: Ranges) -> tuple[np.ndarray, np.ndarray]:
    """(p,) coordinates in the middle of what is likely, and (p,) a quarter of its width."""
    x, spread = [], []
    for name, _ in group.coordinates.columns:
        if name == "stiffness":
            x.append(float(np.log(ranges.stiffness)))
            spread.append(np.log(100.0 / 0.3) / 4)
            continue
        low, high = ranges.range(name)
        x.append(float(np.sqrt(low * high)) if low > 0 else 0.5 * (low + high))
        spread.append((high - low) / 4)
    found = np.array(x)
    if not group.coordinates.has_scale:
        held = group.coordinates.held[0, 0]
        found = group.coordinates.from_natural(found) if held == 0 else found
    return found, np.array(spread)


def _moments(group: GroupProblem, x: np.ndarray, joints: int) -> np.ndarray:
    """(R, p, p) mean of S^T S / sigma^2 over the samples of each recording."""
    p = group.coordinates.size
    rollouts = group.rollouts(group.begin(x), slopes=True)
    slope = group.coordinates.slope(x)
    errors = [np.mean((each.command - each.measured)[each.mask] ** 2) for each in group.strands]
    least = LEAST_LEVEL**2 * np.mean(errors)
    found = np.zeros((len(group.strands) // joints, p, p))
    for k, (strand, each) in enumerate(zip(group.strands, rollouts, strict=True)):
        S = group.coordinates.spread(each.sensitivities[strand.mask][:, :-2], strand.joint) @ slope
        level = ERROR_SHARE**2 * max(errors[k], least)
        found[k // joints] += S.T @ S / (joints * max(len(S), 1) * level)
    return found
