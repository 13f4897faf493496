"""Parameter estimation of regularized, time-discrete multibody dynamics: states and parameters together, of mechanisms
of which only some angles are measured.

paper_furuta    the paper's Furuta pendulum, and simulated recordings of it
synthetic       Figs. 6 and 7: sweeps over time step, compliance and weight on simulated swings
swing_up_13     Sect. 4.6 on simulated recordings: thirteen parameters, and how long they take
recordings      real recordings of another Furuta pendulum
pendulum        Tables 2 and 3: dry friction of one hinge, and of a slider
furuta          Table 4, Figs. 4 and 5: a driven Furuta pendulum
batch           many smoothing problems of one mechanism at once, in lockstep on an accelerator
lockstep        the iteration of many problems

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from ..case import PartedCase, measured_in, simulated_in

FREE_SWINGS = "furuta/oscillations.csv"
DRIVEN = tuple(
    f"furuta/hardware_{motion}.csv"
    for motion in ("step_response_2V", "step_response_4V", "sin_response_2V_1s")
)

DISCRETE = PartedCase(
    "discrete-multibody",
    "Joint state and parameter estimation for regularized, time-discrete multibody dynamics",
    {
        "synthetic": simulated_in(__name__, "synthetic"),
        "pendulum": measured_in(
            __name__, "pendulum", (FREE_SWINGS, "pendulum/ddp.csv", "emps/DATA_EMPS.mat")
        ),
        "furuta": measured_in(__name__, "furuta", (FREE_SWINGS, *DRIVEN)),
        "swing_up_13": simulated_in(__name__, "swing_up_13"),
    },
)
