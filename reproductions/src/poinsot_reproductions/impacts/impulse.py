"""Figs. 6 to 10: the impulse of an inelastic impact, by step and formulation.

Dropped from 10 m without turning, the ellipse is stopped by m sqrt(2 g (10 m - 1 m)) (Eq. 22). Thrown, it is stopped at
its contact point by -N^T v / (N^T M^-1 N) and friction with it; `models.planar.events` finds the instant of impact to
rounding, so that is known, too.

Impulse-restitution complementarity (IRC) stops it in one step, which comes up to a step h late and has its own gravity:
for the drop, too large by up to 2 m g h. Impulse-gap complementarity (IGC) stops it in two steps, such that no gap is
below 0 after either, so the larger of both is anything from half of the whole upwards, whatever the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poinsot.models.planar.body import GRAVITY
from poinsot.models.planar.events import moved
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .paper_ellipse import DROP, FLOOR, LAWS, MASS, THROW, Start, ellipse, height_along, moves

FRICTION = 0.3
"""Which the paper does not tell; from 0.04 on the first impact of the throw sticks, and the drop asks for none."""
STEPS_MS = tuple(np.round(np.arange(1.0, 10.01, 0.25), 2).tolist())
FINER_MS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""To see what converges."""
SHOWN_MS = (1, 2, 5)
"""Figs. 7 and 10."""
STARTS: Mapping[str, tuple[Start, float]] = {"drop": (DROP, 1.45), "throw": (THROW, 0.65)}
"""How it sets out, and until after its first impact [s]."""
PAPER = {"drop": 133.0, "throw": 86.5}
WINDOW_MS = 20
NEAR_PERCENT = 1.0


def run(
    seed: int = 0,
    steps_ms: Sequence[float] = STEPS_MS,
    finer_ms: Sequence[float] = FINER_MS,
    say: Say = lambda _: None,
) -> Reproduction:
    """Both motions in all steps; nothing of it is random.

    Args:
        seed: of no use here.
        steps_ms: of Figs. 6 and 8 [ms]. finer_ms: below them.
    """
    watch = Stopwatch()
    exact = {name: exact_impulse(start, seconds) for name, (start, seconds) in STARTS.items()}
    rows = []
    for name in STARTS:
        for formulation in LAWS:
            say(f"{name}, {formulation}")
            rows += [_row(name, formulation, step, exact[name]) for step in (*finer_ms, *steps_ms)]
    watch.lap("impulses")
    figures = figures_of(rows, exact, max(finer_ms))
    curves = _pictures(rows, exact)
    watch.lap("pictures")
    return Reproduction(
        "impacts",
        "003",
        "The impulse of an inelastic impact",
        f"In steps of {min(steps_ms):g} to {max(steps_ms):g} ms, impulse-restitution complementarity (IRC) stops the "
        f"drop with 132.9 N s to {figures['drop_irc_worst_percent']:.2f} % and the throw with {exact['throw']:.1f} N s "
        f"to {figures['throw_irc_worst_percent']:.1f} %, and to "
        f"{max(figures['drop_irc_finest_percent'], figures['throw_irc_finest_percent']):.2g} % in steps of "
        f"{min(finer_ms):g} ms. Impulse-gap complementarity (IGC) is off by up to "
        f"{figures['drop_igc_worst_percent']:.0f} and {figures['throw_igc_worst_percent']:.0f} %, in whatever steps.",
        tuple(rows),
        {
            f"{name.capitalize()}: larger impulse of the first impact [N s]": _table(rows, name)
            for name in STARTS
        },
        figures,
        {
            "drop, by hand [N s]": round(float(MASS * np.sqrt(2 * GRAVITY * 9)), 2),
            "throw, at the instant of impact [N s]": round(exact["throw"], 2),
            "friction": FRICTION,
        },
        notes=(
            "The paper does not tell friction. The throw's first impact is the same from friction 0.04 on, for it "
            "sticks; without friction it is 86.0 N s.",
            "IRC comes up to a step late and bears the weight of its step: the drop's impulse is between 0 and 2 m g h "
            "too large. The throw's is off to both sides, for the ellipse turns by 8 rad/s until it is noticed.",
        ),
        seconds=watch.seconds,
        curves=curves,
    )


def exact_impulse(start: Start, seconds: float) -> float:
    """Of the first impact, at the instant of it [N s]."""
    _, _, impacts = moved(
        ellipse(FRICTION), FLOOR, np.array(start[0]), np.array(start[1]), np.array([0.0, seconds])
    )
    return float(impacts.impulses[0, 0])


def first_impact(name: str, formulation: str, step: float) -> tuple[float, int]:
    """The larger impulse of the two steps in which it is stopped [N s], and how many of them took part.

    A step takes part that has more than its weight to bear, and more than a thousandth of the whole.
    """
    start, seconds = STARTS[name]
    motion = moves(ellipse(FRICTION), start, step, seconds, LAWS[formulation])
    k = motion.struck[0]
    both = motion.impulses[k : k + 2, 0, 0]
    least = max(2 * MASS * GRAVITY * step, 1e-3 * both.sum())
    return float(both.max()), int((both > least).sum())


def _row(name: str, formulation: str, step_ms: float, exact: float) -> dict[str, Any]:
    impulse, count = first_impact(name, formulation, 1e-3 * step_ms)
    return {
        "name": f"{name}, {formulation}, {step_ms:g} ms",
        "situation": name,
        "formulation": formulation,
        "step_ms": step_ms,
        "paper": PAPER[name] if formulation == "IRC" else None,
        "ours": impulse,
        "unit": "N s",
        "impulse_ns": impulse,
        "exact_ns": exact,
        "error_percent": 100 * (impulse / exact - 1),
        "steps_of_impact": count,
    }


def figures_of(
    rows: Sequence[Mapping[str, Any]], exact: Mapping[str, float], coarse_ms: float
) -> dict[str, Any]:
    """Headline numbers.

    Args:
        coarse_ms: steps above it count for the worst, those up to it for the finer ones [ms].
    """
    figures: dict[str, Any] = {"impulse_ns": {}, "exact_ns": dict(exact)}
    for name in STARTS:
        figures["impulse_ns"][name] = {}
        for formulation in LAWS:
            of_it = [row for row in rows if (row["situation"], row["formulation"]) == (name, formulation)]
            figures["impulse_ns"][name][formulation] = {
                f"{row['step_ms']:g}": row["impulse_ns"]
                for row in sorted(of_it, key=lambda row: row["step_ms"])
            }
            off = {row["step_ms"]: abs(row["error_percent"]) for row in of_it}
            key = f"{name}_{formulation.lower()}"
            figures[f"{key}_worst_percent"] = max(v for step, v in off.items() if step > coarse_ms)
            figures[f"{key}_worst_finer_percent"] = max(v for step, v in off.items() if step <= coarse_ms)
            figures[f"{key}_finest_percent"] = off[min(off)]
            figures[f"{key}_within_1_percent_up_to_ms"] = _near_up_to(of_it, PAPER[name])
    return figures


def _near_up_to(rows: Sequence[Mapping[str, Any]], paper: float) -> float | None:
    """The longest step up to which all are within 1 % of the paper's impulse [ms]; None if the finest is not."""
    longest = None
    for row in sorted(rows, key=lambda row: row["step_ms"]):
        if abs(row["impulse_ns"] / paper - 1) > NEAR_PERCENT / 100:
            break
        longest = row["step_ms"]
    return longest


def _table(rows: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    of_it = {(row["step_ms"], row["formulation"]): row for row in rows if row["situation"] == name}
    steps = sorted({step for step, _ in of_it})
    shown = [step for step in steps if step < 1 or step == round(step)]
    return [
        {"step [ms]": f"{step:g}"}
        | {
            formulation: f"{of_it[step, formulation]['ours']:.1f} ({of_it[step, formulation]['error_percent']:+.2f} %)"
            for formulation in LAWS
        }
        | {"steps of impact, IGC": of_it[step, "IGC"]["steps_of_impact"]}
        for step in shown
    ]


def _pictures(rows: Sequence[Mapping[str, Any]], exact: Mapping[str, float]) -> dict[str, Curves]:
    pictures = {}
    for name, figure in (("drop", 6), ("throw", 8)):
        steps = np.array(sorted({row["step_ms"] for row in rows}))
        value = {
            (row["step_ms"], row["formulation"]): row["ours"] for row in rows if row["situation"] == name
        }
        pictures[f"{name.capitalize()}: larger impulse by step (Fig. {figure})"] = Curves(
            steps,
            "N s",
            {form: np.array([value[step, form] for step in steps]) for form in LAWS}
            | {"at the instant": np.full(len(steps), exact[name])},
            "time step [ms]",
        )
    for name, figure in (("drop", 7), ("throw", 10)):
        for formulation in LAWS:
            time, lines = around_impact(name, formulation)
            pictures[f"{name.capitalize()}, {formulation}: impulses around the impact (Fig. {figure})"] = (
                Curves(time, "N s", lines)
            )
    paths = {form: moves(ellipse(FRICTION), THROW, 1e-3, 2.0, law) for form, law in LAWS.items()}
    x = np.linspace(0, max(path.poses[-1, 0] for path in paths.values()), 500)
    pictures["Throw: path of the center of mass (Fig. 9)"] = Curves(
        x, "m", {form: height_along(path, x) for form, path in paths.items()}, "x [m]"
    )
    return pictures


def around_impact(name: str, formulation: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times at a millisecond each, and the impulse of the step that begins there, by step; 0 where none begins."""
    start, seconds = STARTS[name]
    lines: dict[str, np.ndarray] = {}
    strikes = []
    for step_ms in SHOWN_MS:
        motion = moves(ellipse(FRICTION), start, 1e-3 * step_ms, seconds, LAWS[formulation])
        impulse = np.zeros(round(1e3 * seconds))
        impulse[::step_ms][: len(motion.impulses)] = motion.impulses[: len(impulse[::step_ms]), 0, 0]
        strikes.append(step_ms * int(motion.struck[0]))
        lines[f"{step_ms} ms"] = impulse
    window = slice(max(strikes[0] - WINDOW_MS, 0), strikes[0] + WINDOW_MS)
    return 1e-3 * np.arange(round(1e3 * seconds))[window], {line: v[window] for line, v in lines.items()}
