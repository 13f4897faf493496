"""Shooting of several drops of one body, which share J/m, mu, epsilon and geometry.

theta is that of the first drop (`shooting.NAMES`, `shooting.GEOMETRY`), followed by poses and velocities of the first
frames of the others. Starting points are minima of single drops: with J/m, mu, epsilon and geometry of one of them
held, the first state of each drop is fitted from its own minima.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from ...arrays import Float, Int, Matrix, Vector
from ...models.planar.drop import Drop
from .shooting import INERTIA, PRIOR_STD, ROUGH, Shooting, ShootingFit

STATE = INERTIA
"""Components of the first state of a drop, which come first."""
MINIMA, STARTS = 2, 2
"""Largest numbers of minima of a drop that are combined with those of the others, and of joint starting points."""


@dataclass(frozen=True, eq=False)
class JointShooting(Shooting):
    """Residuals of several drops against their simulations.

    Args:
        times, poses: of the first drop. further: the other drops.
        shape, walls, drag, mass, law, geometry, geometry_std: as in `Shooting`, of all drops. noise: of all frames.
            forces: none.
    """

    further: tuple[Drop, ...] = ()

    @classmethod
    def of(cls, first: Shooting, further: Iterable[Drop]) -> JointShooting:
        """Residuals of a drop and of others, all else being as of the first."""
        return cls(**{of.name: getattr(first, of.name) for of in fields(Shooting)}, further=tuple(further))

    @cached_property
    def drops(self) -> tuple[Shooting, ...]:
        """Each drop with residuals of its own."""
        first = Shooting(**{of.name: getattr(self, of.name) for of in fields(Shooting)})
        return first, *(replace(first, times=drop.times, poses=drop.poses) for drop in self.further)

    @property
    def parameters(self) -> int:
        return self.of_geometry.stop + STATE * len(self.further)

    @property
    def prior_std(self) -> Vector:
        return np.append(super().prior_std, np.tile(PRIOR_STD[:STATE], len(self.further)))

    @cached_property
    def readings(self) -> Float[np.ndarray, "N 3"]:
        return np.concatenate([self.poses, *(drop.poses for drop in self.further)])

    def columns(self, d: int) -> Int[np.ndarray, "q"]:
        """Components of theta on which drop d depends, in the order of its own theta."""
        one = np.arange(self.of_geometry.stop)
        if d > 0:
            one[:STATE] = len(one) + STATE * (d - 1) + np.arange(STATE)
        return one

    def each(self, theta: Vector) -> Iterator[tuple[Shooting, Vector]]:
        for d, drop in enumerate(self.drops):
            yield drop, theta[self.columns(d)]

    def joined(self, thetas: Sequence[Vector]) -> Vector:
        """theta (p,) with the first state of each drop's theta, and all else of the first one's."""
        return np.concatenate([thetas[0], *(theta[:STATE] for theta in thetas[1:])])

    def residuals(self, theta: Vector, frames: int | None = None) -> Vector:
        """(3 frames,) of all drops, one after the other; `frames` None: all."""
        return np.concatenate([drop.residuals(own) for drop, own in self.each(theta)])[
            : frames and 3 * frames
        ]

    def scale(self) -> Vector:
        return np.append(super().scale(), np.tile(super().scale()[:STATE], len(self.further)))

    def jacobian(self, theta: Vector, e: Vector) -> Matrix:
        J, begin = np.zeros((len(e), len(theta))), 0
        for d, (drop, own) in enumerate(self.each(theta)):
            rows = slice(begin, begin + drop.poses.size)
            J[rows, self.columns(d)] = drop.jacobian(own, e[rows])
            begin = rows.stop
        return J

    def rough(self, theta: Vector) -> ShootingFit:
        return self.fit(theta, method=ROUGH)

    def starts(self, minima: Sequence[Sequence[ShootingFit]]) -> list[Vector]:
        """Joint starting points, the one with the least chi-square first, from minima of each drop."""
        shared = np.arange(STATE, self.of_geometry.stop)
        found = []
        for other in (fit for of in minima for fit in self._likeliest(of)):
            states = [
                min(
                    (
                        drop.fit(np.append(own.theta[:STATE], other.theta[STATE:]), method=ROUGH, held=shared)
                        for own in self._likeliest(of)
                    ),
                    key=lambda fit: fit.chi_square,
                )
                for drop, of in zip(self.drops, minima, strict=True)
            ]
            found.append((sum(fit.chi_square for fit in states), self.joined([fit.theta for fit in states])))
        return [theta for _, theta in sorted(found, key=lambda start: start[0])[:STARTS]]

    def _likeliest(self, minima: Sequence[ShootingFit]) -> list[ShootingFit]:
        """The deepest minima of a drop; those under this law first."""
        return sorted(minima, key=lambda fit: (fit.law != self.law, fit.chi_square))[:MINIMA]
