"""Steps of planar bodies among walls, beside the paper's program for each step (CasADi, IPOPT).

    python benchmarks/planar_stepper.py [--json PATH] [--rounds N] [--save-baseline]

100 000 steps of each motion, mostly with closed contacts, for those are what costs; told are seconds of a thousand.
200 000 steps a second are promised. The program takes the steps of an ellipse that slides, from the same poses, and
agrees.
"""

from __future__ import annotations

import numpy as np
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, Seconds, side_by_side

from poinsot.models.planar import Ellipse, PlanarBody, SmoothCurve, Wall, floor, rectangle
from poinsot_reproductions.impacts.step_program import StepProgram
from poinsot_reproductions.impacts.stepping import Law, simulate

STEPS, STEP = 100_000, 1e-4
PER_SECOND = 200_000
PROGRAM = "the paper's program"
PROGRAM_STEPS, PROGRAM_STEP = 40, 5e-3
LEFT, SLOPES = Wall(0.0, 0.0, -np.pi / 2), [floor(0.0, 0.7), Wall(0.0, 0.0, -0.7)]
BIG = PlanarBody(Ellipse(1.5, 1.0), 10.0, 2.0, 0.3)
SQUARE = PlanarBody(rectangle(0.06, 0.06, 0.004), 1.0, 6e-4, 0.3, 0.3)
SMOOTH = PlanarBody(SmoothCurve(0.03, (0.002, 0.001), (0.0, 0.001)), 1.0, 6e-4, 0.3, 0.3)
MOTIONS = {
    "ellipse that is thrown": (BIG, [floor()], [0.0, 5.0, 0.0], [10.0, -3.0, -8.0]),
    "ellipse that slides": (BIG, [floor()], [0.0, 1.0, 0.0], [15.0, 0.0, 0.0]),
    "round square on a floor": (SQUARE, [floor()], [0.0, 0.2, 0.3], [1.0, 0.0, 3.0]),
    "round square in a corner": (SQUARE, [floor(), LEFT], [0.03, 0.03, 0.0], [0.0, 0.0, 0.0]),
    "round square between slopes": (SQUARE, SLOPES, [0.0, 0.2, 0.3], [0.0, 0.0, 3.0]),
    "smooth curve": (SMOOTH, [floor()], [0.0, 0.2, 0.3], [0.0, 0.0, 3.0]),
}


def main() -> None:
    arguments = options(__doc__)
    programs = {
        f"{name}, {law.name.lower()}": Program(lambda motion=motion, law=law: moves(*motion, law))
        for name, motion in MOTIONS.items()
        for law in Law
    }
    slides = BIG, [floor()], np.array([0.0, 1.0, 0.0]), np.array([15.0, 0.0, 0.0])
    exact = simulate(*slides, PROGRAM_STEP, PROGRAM_STEPS * PROGRAM_STEP)
    step = StepProgram(BIG, [floor()], PROGRAM_STEP)
    exactly = tuple(programs)
    programs[PROGRAM] = Program(
        lambda: [step(q, v) for q, v in zip(exact.poses[:-1], exact.velocities[:-1], strict=True)]
    )
    seconds, results = side_by_side(programs, arguments.rounds or 5)
    seconds = {
        name: thousand(duration, PROGRAM_STEPS if name == PROGRAM else STEPS)
        for name, duration in seconds.items()
    }
    apart = max(
        float(np.abs(result.velocity - velocity).max())
        for result, velocity in zip(results[PROGRAM], exact.velocities[1:], strict=True)
        if result.acts[0]
    )
    deliver(
        "planar_stepper",
        arguments,
        seconds,
        [
            Ratio(
                "a step of the paper's program / an exact one",
                seconds[PROGRAM] / seconds["ellipse that slides, restitution"],
                at_least=100,
            )
        ],
        [
            # the program's squared complementarity is exact to some 1e-6
            Agreement("velocities after a step [m/s], [rad/s]", apart, 1e-4),
            Agreement("steps without a solution", sum(results[name] for name in exactly), 0),
        ],
        limits=[Limit(f"1000 steps, {name}", seconds[name].processor, 1000 / PER_SECOND) for name in exactly],
    )


def moves(body: PlanarBody, walls: list[Wall], pose: list[float], velocity: list[float], law: Law) -> int:
    """How many steps went unsolved."""
    return simulate(body, walls, np.array(pose), np.array(velocity), STEP, STEPS * STEP, law).unsolved


def thousand(seconds: Seconds, steps: int) -> Seconds:
    return Seconds(1000 * seconds.processor / steps, 1000 * seconds.passed / steps)


if __name__ == "__main__":
    main()
