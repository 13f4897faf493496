"""Base of methods: `solve` refuses a problem of another class in one sentence."""

from functools import wraps
from typing import Any

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
