"""Parameters: the named blocks of theta, with unit, owner, and whether they are free or held.

A block holds parameters that belong together: the ten inertial parameters of one body, or the friction of one joint.
Names are the short symbols of the identification literature, numbered like Pinocchio's joints (the universe is 0):

    m3 mx3 my3 mz3 xx3 xy3 yy3 xz3 yz3 zz3     body 3, about its frame's origin
    ia3  fv3  fc3  off3                        joint 3: rotor inertia, viscous, Coulomb, offset
    iam6 fvm6 fcm6                             motor 6 where it also turns with another joint
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .arrays import Brief, Vector
from .exceptions import InvalidMethod, check_known
from .ranges import Positive

INERTIAL_SYMBOLS = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
INERTIAL_UNITS = ("kg", "kg m", "kg m", "kg m", *6 * ("kg m^2",))


def columns_of(bodies: Iterable[str]) -> tuple[str, ...]:
    """Names of the ten parameters of each body: `m.trunk`, `mx.trunk`, ..."""
    return tuple(f"{symbol}.{body}" for body in bodies for symbol in INERTIAL_SYMBOLS)


@dataclass(frozen=True)
class Block:
    """Parameters that belong together.

    Args:
        kind: `inertia`, `rotor_inertia`, `viscous`, `coulomb`, `offset`, ...
        owner: name of the body, joint or motor.
        names: symbols, unique over all blocks.
        units: SI unit of each.
    """

    kind: str
    owner: str
    names: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True)
class Normal:
    """A prior mean and standard deviation, in the parameter's unit."""

    mean: float
    std: Positive

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.std) and self.std > 0):
            raise InvalidMethod(f"a prior needs a finite mean and std > 0, not {self.mean} +- {self.std}")


@dataclass(frozen=True, repr=False)
class Parameters(Brief):
    """All parameters of a model, in the order of its regressor's columns."""

    blocks: tuple[Block, ...]
    held: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(unit for block in self.blocks for unit in block.units)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        return tuple(block.owner for block in self.blocks for _ in block.names)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        return tuple(block.kind for block in self.blocks for _ in block.names)

    def index(self, name: str) -> int:
        """Column of a parameter; `InvalidMethod` if there is none of this name."""
        return check_known(name, self.names, "no parameter", "the model has", InvalidMethod, 20)

    @cached_property
    def free(self) -> np.ndarray:
        """(p,) True where a parameter is to be estimated."""
        return np.array([name not in self.held for name in self.names])

    @cached_property
    def held_values(self) -> Vector:
        """(p,) the values of held parameters, 0 elsewhere."""
        return np.array([self.held.get(name, 0.0) for name in self.names])

    def measured_in(self, unit: str) -> Parameters:
        """The same parameters for efforts in a unit, such as `"A"`, whose relation to N m or N is unknown."""
        return replace(
            self, blocks=tuple(replace(block, units=rescaled(block.units, unit)) for block in self)
        )

    def hold(self, **values: float) -> Parameters:
        """The same parameters with some held at given values."""
        for name in values:
            self.index(name)
        return replace(self, held={**self.held, **values})


def rescaled(units: Iterable[str], unit: str) -> tuple[str, ...]:
    """Units of mass properties and efforts, for efforts in another unit.

    >>> rescaled(("N m", "N m s/rad", "kg m^2"), "A")
    ('A', 'A s/rad', 'kg m^2 A/(N m)')
    """
    torques = [symbol.replace("N m", unit).replace("N", unit) for symbol in units]
    return tuple(f"{symbol} {unit}/(N m)" if symbol.startswith("kg") else symbol for symbol in torques)


PerJoint = float | Sequence[float] | np.ndarray | Mapping[str, float]
"""One number for all joints, one a joint in the robot's order, or some by name."""


def per_joint(quantity: str, value: PerJoint | None, joints: Sequence[str], default: Vector) -> Vector:
    """One number a joint (n,), from `default` (n,) where none is given.

    Args:
        quantity: its name, the subject of messages.

    Raises:
        InvalidMethod: if a joint does not exist, a value is NaN, or there are too few or too many.
    """
    if value is None:
        return np.array(default, dtype=float)
    if isinstance(value, Mapping):
        result = np.array(default, dtype=float)
        for joint, number in value.items():
            # joints that are not named keep their default
            k = check_known(joint, joints, f"{quantity} names joint", "the robot has", InvalidMethod)
            result[k] = number
    else:
        numbers = np.asarray(value, dtype=float)
        if numbers.shape not in ((), (len(joints),)):
            raise InvalidMethod(
                f"{quantity} has {numbers.size} values; give one, or one for each of the {len(joints)} joints"
            )
        # a copy: a broadcast array repeats one number in memory and cannot be written to
        result = np.broadcast_to(numbers, (len(joints),)).copy()
    if np.isnan(result).any():
        raise InvalidMethod(f"{quantity} must be numbers, not {value}")
    return result
