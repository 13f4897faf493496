"""Base of methods: `solve` refuses a problem of another class in one sentence; certificates of runs by a second run."""

from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from ..estimate import Certificate, Estimate
from ..exceptions import InvalidMethod
from ..ranges import check_ranges


class Method:
    """Base of methods: `solve` raises `InvalidMethod` for a problem that is not of the class its signature names,
    and a field outside the range of its annotation is `InvalidMethod` too.
    """

    solve: Any

    def __post_init__(self) -> None:
        check_ranges(self)

    def __init_subclass__(cls) -> None:
        if (solve := cls.__dict__.get("solve")) is None:
            return
        problem_name = solve.__annotations__["problem"]

        @wraps(solve)
        def checked(self: Any, problem: Any, *args: Any, **options: Any) -> Any:
            if problem_name not in (base.__name__ for base in type(problem).__mro__):
                message = f"{type(self).__name__}.solve takes a problem, {problem_name}, not {type(problem).__name__}"
                remedy = f"make one of a model and recordings, see help(poinsot.{problem_name})"
                raise InvalidMethod(f"{message}: {remedy}")
            return solve(self, problem, *args, **options)

        cls.solve = checked


@dataclass(frozen=True, eq=False)
class Replay:
    """A problem with the method that has gone through it sample by sample, which goes again to certify an estimate."""

    problem: Any
    method: Any

    def certify(self, estimate: Estimate) -> Certificate:
        """Run again and compare with the estimate's values, in its standard deviations."""
        again = self.method.solve(self.problem)
        away = np.abs(estimate.values - again.values) / again.std
        return Certificate(float(away.max(initial=0.0)), True)
