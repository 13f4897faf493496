"""How an estimation ended, for all families, and what to do next.

One rule: an estimation converged if it passed its stopping test. A method that can take no further step (its damping is
at its maximum, or no step length lowers the cost) without passing that test has stalled, however close it may be.
"""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How an estimation ended; the value is a sentence that says what to do next."""

    solved = "Solved."
    partly = "Solved for what the data determine; the other combinations are listed as not identifiable."
    step_limit = "Iteration limit reached; raise max_iterations or start closer."
    interrupted = "Interrupted; the result is what was found until then."
    stalled = "No step lowers the cost; start closer, or check units and the noise of the sensors."
    indefinite = "The problem has no single minimum here; give priors, or leave null_space on."
    diverged = "The model has no finite value at the initial guess; start closer, or use multiple shooting."
    unsettled = "The estimate has not settled; treat the values as rough, and read the warnings."

    @property
    def converged(self) -> bool:
        return self in (Status.solved, Status.partly)
