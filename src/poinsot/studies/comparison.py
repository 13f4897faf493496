"""Results of one robot side by side: which parameters differ beyond chance, and by how much.

A parameter x_k with standard deviation s_k in result k = 1 ... K, all of the same true value, has

    Q = sum over k of w_k (x_k - mean)^2,   w_k = 1 / s_k^2,   mean = sum w_k x_k / sum w_k

of a chi-square distribution with K - 1 degrees of freedom; of two results Q is the squared difference over its
variance. s is what results do not share: noise of the readings with its correlation, and how parameters differ between
recordings that are otherwise alike, d^2 = next recording^2 - std^2. Several recordings determine d without that noise,
s^2 = by chance + d^2. Where blocks of a few recordings stand in for them, d is the spread of their estimates, which the
noise causes too: s^2 = max(by chance, d^2). Of the same recordings d is 0. Errors of laboratory and description are
those of all results and cancel in differences. Of b parameters, some would differ by chance at 5 % each: Holm's
correction (1979) rejects, in the order of their p-values, while p_(i) <= 0.05 / (b - i), i = 0, 1, ... At most one
comparison in twenty then names a parameter that does not differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os.path import abspath, dirname, join
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import JointSamples, Vector
from ..diagnosis.parameters import FEWEST_RECORDINGS
from ..estimate import Estimate
from ..exceptions import InvalidMethod, PoinsotError, listing
from ..export.differences import Change, differences
from ..export.export_robot import prepare_export
from ..io.results import plain
from ..project.other_jobs import RESULT
from ..project.prediction import RecordedMotion, StoredProblem, recorded, samples_of
from ..regression.inverse_dynamics import InverseDynamics

SCHEMA = "poinsot.compare/1"

LEVEL = 0.05
"""Probability that a comparison of results that do not differ names a parameter."""

SHOWN_SAMPLES = 400
"""Maximum number of samples of the common recording whose efforts are compared."""


@dataclass(frozen=True, eq=False)
class ComparedParameter:
    """A parameter that all results determine.

    Args:
        values, std: (K,) in `unit`; std without the errors that results share.
        p_value: probability of so large differences by chance, before Holm's correction.
        different: whether it differs beyond chance, after it.
    """

    name: str
    unit: str
    kind: str
    owner: str
    grouping: str
    values: Vector
    std: Vector
    p_value: float
    different: bool

    @cached_property
    def farthest(self) -> int:
        """Place of the result that is farthest from the first, in standard deviations; the last of equal ones."""
        apart = np.abs(self.values - self.values[0])
        size = np.hypot(self.std, self.std[0])
        far = np.divide(apart, size, out=np.where(apart > 0, np.inf, 0.0), where=size > 0)
        return int(len(far) - 1 - np.argmax(far[::-1]))

    @property
    def difference(self) -> float:
        """Value of the farthest result less that of the first."""
        return float(self.values[self.farthest] - self.values[0])

    @property
    def difference_std(self) -> float:
        """Standard deviation of `difference`."""
        return float(np.hypot(self.std[self.farthest], self.std[0]))

    @property
    def change_percent(self) -> float:
        """`difference` relative to the first value; infinite where that is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(100.0 * np.float64(self.difference) / abs(self.values[0]))


@dataclass(frozen=True, eq=False)
class CommonMotion:
    """Efforts that each result predicts for one recording. `motion`: samples of it. `efforts`: (K, k, e). `joints`,
    `units`: (e,).
    """

    motion: RecordedMotion
    efforts: np.ndarray
    joints: tuple[str, ...]
    units: tuple[str, ...]

    @property
    def difference_percent(self) -> JointSamples:
        """(K, e) rms of each result's efforts less the first's, relative to the rms of the first's."""
        apart = np.sqrt(np.mean((self.efforts - self.efforts[0]) ** 2, axis=1))
        size = np.sqrt(np.mean(self.efforts[0] ** 2, axis=0))
        return np.divide(100.0 * apart, size, out=np.zeros_like(apart), where=size > 0)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of one robot, compared.

    Args:
        names: (K,) of the results. estimates: (K,).

    Raises:
        InvalidMethod: if they are not two or more, or have no parameter in common.
    """

    names: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    level: float = field(default=LEVEL, kw_only=True)

    def __post_init__(self) -> None:
        if len(self.estimates) < 2:
            raise InvalidMethod("a comparison needs two results or more")
        first = self.estimates[0]
        for name, other in zip(self.names[1:], self.estimates[1:], strict=True):
            joints = first.fit.joints, other.fit.joints
            if set(joints[0]) != set(joints[1]):
                raise InvalidMethod(
                    f"{self.names[0]} and {name} are of different robots: one has {listing(joints[0])}, the other "
                    f"{listing(joints[1])}; compare results of one robot"
                )
            if set(first.fit.units) != set(other.fit.units):
                raise InvalidMethod(
                    f"{self.names[0]} is in {listing(sorted(set(first.fit.units)))} and {name} in "
                    f"{listing(sorted(set(other.fit.units)))}: a gain of the drive brings both to one unit"
                )
        if not self.parameters:
            raise InvalidMethod(
                f"{listing(self.names)} have no parameter in common that each of them determines: "
                f"{'; '.join(self._reasons) or 'they estimate others'}"
            )

    @property
    def different(self) -> tuple[str, ...]:
        """Names of the parameters that differ beyond chance, the clearest first."""
        found = [parameter for parameter in self.parameters if parameter.different]
        return tuple(parameter.name for parameter in sorted(found, key=lambda one: one.p_value))

    @cached_property
    def parameters(self) -> tuple[ComparedParameter, ...]:
        """Parameters that all results determine, with the same name, unit and meaning."""
        first = self.estimates[0]
        names = [name for name in first.names if name not in self.left_out]
        places = [[each.names.index(name) for name in names] for each in self.estimates]
        values = np.array([each.values[k] for each, k in zip(self.estimates, places, strict=True)])
        std = np.array([self._std(each)[k] for each, k in zip(self.estimates, places, strict=True)])
        p_values = [chance(x, s) for x, s in zip(values.T, std.T, strict=True)]
        rejected = holm(np.array(p_values), self.level)
        return tuple(
            ComparedParameter(
                name, first.units[at], first.kinds[at], first.owners[at], first.groupings[at],
                values[:, k], std[:, k], p_values[k], bool(rejected[k]),
            )
            for k, (name, at) in enumerate(zip(names, places[0], strict=True))
        )  # fmt: skip

    @cached_property
    def left_out(self) -> Mapping[str, str]:
        """Parameter that is not compared -> why."""
        found: dict[str, str] = {}
        every = dict.fromkeys(name for each in self.estimates for name in each.names)
        for name in every:
            rows = [(each, each.names.index(name)) for each in self.estimates if name in each.names]
            if len(rows) < len(self.estimates):
                found[name] = "not in every result"
            elif not all(each.identifiable[k] and np.isfinite(self._std(each)[k]) for each, k in rows):
                found[name] = "not determined by every result"
            elif len({(each.units[k], each.groupings[k]) for each, k in rows}) > 1:
                sums = dict.fromkeys(f"{each.groupings[k]} [{each.units[k]}]" for each, k in rows)
                found[name] = f"different sums: {', '.join(sums)}"
        return found

    @property
    def _reasons(self) -> list[str]:
        """Why parameters are not compared, each with their names."""
        names: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            names.setdefault(why, []).append(name)
        return [f"{listing(own)} ({why})" for why, own in names.items()]

    def _std(self, estimate: Estimate) -> Vector:
        """(b,) s of one result."""
        chance = estimate.white_std if estimate.std_kind == "white" else estimate.coloured_std
        own, between = estimate.std if chance is None else chance, estimate.parameters.between_recordings
        if self.same_recordings or between is None:
            return own
        between = np.where(np.isfinite(between), between, 0.0)
        known = _recordings(estimate)
        if known is not None and len(known) < FEWEST_RECORDINGS:
            return np.sqrt(np.maximum(own**2, between))
        return np.sqrt(own**2 + between)

    @cached_property
    def same_recordings(self) -> bool:
        """Whether all results are known to be of the same recordings."""
        known = [_recordings(estimate) for estimate in self.estimates]
        return known[0] is not None and all(one == known[0] for one in known)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what the comparison rests on."""
        found = []
        if self.same_recordings:
            found.append(
                "All results are of the same recordings: what differs is due to method and settings alone."
            )
        for name, estimate in zip(self.names, self.estimates, strict=True):
            if estimate.trust.value == "not-to-be-used":
                found.append(
                    f"{name} is not to be used ({estimate.diagnosis.verdict}), so what differs may be its error."
                )
        found += [f"Not compared: {reason}." for reason in self._reasons]
        return (*found, *self._common[1], *self._descriptions[1])

    @property
    def common(self) -> CommonMotion | None:
        """Efforts of each result on one recording; None: none is there."""
        return self._common[0]

    @cached_property
    def _common(self) -> tuple[CommonMotion | None, tuple[str, ...]]:
        reasons = []
        for estimate in self.estimates:
            try:
                if isinstance(estimate.problem, StoredProblem):
                    motion = recorded(estimate.problem.job, SHOWN_SAMPLES)
                elif isinstance(estimate.problem, InverseDynamics):
                    motion = samples_of(estimate.problem.parts[0], "the first recording", SHOWN_SAMPLES)
                else:
                    raise InvalidMethod("there is none of a regression")
                efforts = np.array([each.torque(motion.q, motion.v, motion.a) for each in self.estimates])
                fit = self.estimates[0].fit
                return CommonMotion(motion, efforts, fit.joints, fit.units), ()
            except PoinsotError as error:
                reasons.append(str(error))
        return None, (f"No efforts are compared, since no common recording is there: {reasons[0]}.",)

    @property
    def descriptions(self) -> tuple[Change, ...] | None:
        """What differs between the descriptions that the first and the last result write; None: they write none."""
        return self._descriptions[0]

    @cached_property
    def _descriptions(self) -> tuple[tuple[Change, ...] | None, tuple[str, ...]]:
        ends = self.estimates[0], self.estimates[-1]
        try:
            first, last = (prepare_export(each, each.dynamics.robot, force=True).description for each in ends)
        except PoinsotError as error:
            return None, (f"No descriptions are compared: {error}.",)
        return differences(first, last), ()

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain values, schema `poinsot.compare/1`."""
        about = "method", "robot", "rows"
        common = self.common
        efforts: dict[str, Any] | None = None
        if common is not None:
            efforts = {"recording": common.motion.name, "joints": common.joints, "units": common.units}
            efforts["difference_percent"] = common.difference_percent
        return plain(
            {
                "schema": SCHEMA,
                "results": [
                    {"name": name, "trust": each.trust.value, **{key: getattr(each, key) for key in about}}
                    for name, each in zip(self.names, self.estimates, strict=True)
                ],
                "different": self.different,
                "level": self.level,
                "same_recordings": self.same_recordings,
                "parameters": [
                    {key: getattr(one, key) for key in COMPARED} for one in self.parameters
                ],
                "efforts": efforts,
                "bodies": [
                    {"name": body, "masses": [each.mass for each in every], "centers_of_mass":
                     [each.center_of_mass for each in every]}
                    for body, every in self.bodies.items()
                ],
                "changes": None if self.descriptions is None else [one._asdict() for one in self.descriptions],
                "notes": self.notes,
                "text": str(self),
            }
        )  # fmt: skip

    @cached_property
    def bodies(self) -> Mapping[str, tuple[Any, ...]]:
        """Body -> it in each result, of bodies whose mass all results determine."""
        known = [
            {body.name: body for body in each.bodies if body.mass is not None} for each in self.estimates
        ]
        return {
            name: tuple(each[name] for each in known)
            for name in known[0]
            if all(name in each for each in known)
        }

    def __str__(self) -> str:
        from .comparison_page import comparison_text

        return comparison_text(self)


COMPARED = (
    *("name", "unit", "kind", "owner", "grouping", "values", "std"),
    *("farthest", "difference", "difference_std", "change_percent", "p_value", "different"),
)
"""Attributes of a compared parameter that its JSON has."""


def compare(estimates: Sequence[Estimate], names: Sequence[str] = (), *, level: float = LEVEL) -> Comparison:
    """Compare results of one robot: days, methods, loads, before and after.

    Args:
        estimates: two or more; the first is what others are compared with. names: one each; empty: A, B, ...
        level: probability that results which do not differ have a parameter that is called different.

    Raises:
        InvalidMethod: if they are of different robots, or share no parameter.
    """
    letters = [chr(ord("A") + k) if k < 26 else f"result {k + 1}" for k in range(len(estimates))]
    return Comparison(tuple(names or letters), tuple(estimates), level=level)


def compare_two(first: Estimate, second: Estimate, **options: Any) -> Comparison:
    """`compare` of two results, for `Estimate.compare`."""
    return compare((first, second), **options)


def labels(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of results by their paths: the folder of `result.json`, else the file's; with folders above where needed.

    >>> labels([Path("/monday/arm/result.json"), Path("/tuesday/arm/result.json")])
    ('monday/arm', 'tuesday/arm')
    """
    whole = [path.parent if path.name == RESULT else path.with_suffix("") for path in paths]
    parts = [path.absolute().parts[1:] for path in whole]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(f"{name} ({k})" for k, name in enumerate(("/".join(part[-1:]) for part in parts), start=1))


def chance(values: Vector, std: Vector) -> float:
    """Probability of so large differences of (K,) values with these standard deviations by chance."""
    if np.ptp(values) == 0:
        return 1.0
    if not np.all(std > 0):  # known exactly
        return 0.0
    from scipy.special import chdtrc

    weights = 1 / std**2
    mean = weights @ values / weights.sum()
    return float(chdtrc(len(values) - 1, weights @ (values - mean) ** 2))


def holm(p: Vector, level: float) -> np.ndarray:
    """(b,) which hypotheses are rejected by their p-values (b,), at this probability that a true one is."""
    order = np.argsort(p, kind="stable")
    passed = np.cumprod(p[order] <= level / np.arange(len(p), 0, -1)).astype(bool)
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order] = passed
    return rejected


def _recordings(estimate: Estimate) -> tuple[Any, ...] | None:
    """What identifies the recordings that a result of a project was estimated from; None: unknown."""
    if isinstance(estimate.problem, InverseDynamics):
        return tuple(id(part.signals) for part in estimate.problem.parts)
    settings = estimate.settings
    project, file = settings.get("project"), settings.get("project_file")
    if not isinstance(project, Mapping) or not file:
        return None
    folder = settings.get("data_folder") or dirname(str(file))
    found = []
    for one in project.get("recordings", ()):
        if one.get("role", "identification") != "identification":
            continue
        files = [each.get("path") for each in one.get("files") or [one]]
        found.append((tuple(abspath(join(folder, str(path))) for path in files), str(one.get("window_s"))))
    return tuple(found) or None
