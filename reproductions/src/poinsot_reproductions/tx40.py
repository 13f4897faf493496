"""Tables 1 to 3 and Figs. 2 to 4 of Brunot, Janot and Carrillo (2017): the Staubli TX40 from its raw recording.

Good knowledge: Butterworth filter at 50 Hz, decimation to 10 Hz. Poor knowledge: 200 Hz and 100 Hz. The two random-walk
smoothers have the paper's noise variance ratio of 1e-5 and the same decimation. What the paper leaves open is settled
so: positions are filtered over the whole record before the motion is cut out (the arm stands still outside it); the
decimation filter has order 4, to which MATLAB's `decimate` falls back at a factor of 200; ordinary least squares runs
on all 61 base parameters, of which the tables print 28.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from poinsot import Column, Source, read_recording
from poinsot.estimate import Estimate
from poinsot.estimators.linear.essential import EssentialParameters
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.signals.random_walk_smoother import RandomWalkSmoother
from poinsot.stopwatch import Stopwatch

from .case import RecordedCase, Reproduction
from .tx40_tables import COLUMNS, TABLE_1, TABLE_2, TABLE_3, Table

RATE_HZ = 5000.0
WINDOW_S = (0.55, 7.3)
DECIMATION_ORDER = 4
BANDS_HZ = {"good": (50.0, 10.0), "poor": (200.0, 100.0)}
EQUAL = 0.005 * (1 + 1e-6)
"""Two values are equal as printed, with two decimals, if they differ by no more."""


def robot(folder: Path, coupled_rotor: str = "free") -> Articulated:
    """The TX40 with its gears: motor 6 also turns with joint 5."""
    drive = Drive(
        reduction=(32, 32, 45, -48, 45, 32),
        couplings=(Coupling(motor="joint_6", joint="joint_5", ratio=32),),
        side="motor",
        position_offset=(0, -math.pi / 2, math.pi / 2, 0, 0, 0),
        rotor_inertia=True,
        coupled_rotor=coupled_rotor,  # type: ignore[arg-type]
    )
    return load_robot(folder / "tx40.urdf", drive=drive)


def recording(folder: Path) -> Recording:
    """Motor angles and motor torques, 9 s at 5 kHz."""
    columns = [f"Joint_{k}" for k in range(1, 7)]
    return read_recording(
        [
            Source(
                folder / "pos_read_data.csv", {f"position.{c.lower()}": Column(c, "rad") for c in columns}
            ),
            Source(folder / "curr_data.csv", {f"torque.{c.lower()}": Column(c, "N m") for c in columns}),
        ],
        rate_hz=RATE_HZ,
    )


def method(column: str, knowledge: str) -> ButterworthDecimation | RandomWalkSmoother:
    """How a column of the tables smooths."""
    cutoff_hz, decimate_hz = BANDS_HZ[knowledge]
    common: dict[str, Any] = {
        "decimate_hz": decimate_hz,
        "decimation_order": DECIMATION_ORDER,
        "cut_edges": False,
        "window_s": WINDOW_S,
    }
    if column == "classical":
        return ButterworthDecimation(cutoff_hz, **common)
    return RandomWalkSmoother(order=2 if column == "irwsm1" else 3, **common)


def run(folder: Path) -> Reproduction:
    """All columns, both cases."""
    watch = Stopwatch()
    arm, measured = robot(folder), recording(folder)
    watch.lap("read")
    estimates: dict[tuple[str, str], Estimate] = {}
    for knowledge in BANDS_HZ:
        for column in COLUMNS:
            signals = method(column, knowledge).apply(measured)
            watch.lap("signals")
            estimates[knowledge, column] = LeastSquares().solve(inverse_dynamics(arm, signals))
            watch.lap("solve")
    essential = _essential(folder, measured)
    watch.lap("essential")
    rows = [
        *_parameter_rows("1", TABLE_1, {c: estimates["good", c] for c in COLUMNS}),
        *_error_rows(estimates),
        *_parameter_rows("3", TABLE_3, {c: estimates["poor", c] for c in COLUMNS}),
    ]
    figures = _figures(rows, estimates) | essential
    by_method = {
        knowledge: {column: estimates[knowledge, column].fit for column in COLUMNS} for knowledge in BANDS_HZ
    }
    fits = {
        "Fig. 2: residual autocorrelation, good knowledge": by_method["good"],
        "Fig. 3: residual autocorrelation, poor knowledge": by_method["poor"],
        "Fig. 4: torques and errors, poor knowledge": by_method["poor"],
    }
    return Reproduction(
        "tx40",
        "002",
        "Identification of the Staubli TX40 (Brunot, Janot and Carrillo 2017)",
        f"Table 1 classical: largest difference {figures['table_1_classical_max_difference']:.3f}, "
        f"{figures['table_1_classical_equal_as_printed']} of 28 equal as printed, relative error "
        f"{figures['relative_error_percent']['good']['classical']:.2f} %.",
        tuple(rows),
        _tables(rows),
        figures,
        _facts(figures),
        fits,
        dict(zip(fits, ("autocorrelation", "autocorrelation", "effort"), strict=True)),
        _notes(figures),
        watch.seconds,
    )


def _parameter_rows(table: str, paper: Table, estimates: dict[str, Estimate]) -> list[dict[str, Any]]:
    rows = []
    for k, column in enumerate(COLUMNS):
        estimate = estimates[column]
        place = {name.removesuffix("r"): i for i, name in enumerate(estimate.names)}
        for name, cells in paper.items():
            i = place[name]
            value, std_percent = cells[k]
            ours = float(estimate.values[i])
            assert estimate.white_std is not None
            assert estimate.coloured_std is not None
            rows.append(
                {
                    "table": table,
                    "column": column,
                    "name": name,
                    "paper": value,
                    "ours": ours,
                    "difference": ours - value,
                    "unit": estimate.units[i],
                    "paper_std_percent": std_percent,
                    "ours_std_percent": float(100 * estimate.white_std[i] / abs(ours)),
                    "ours_honest_std_percent": float(100 * estimate.coloured_std[i] / abs(ours)),
                }
            )
    return rows


def _error_rows(estimates: dict[tuple[str, str], Estimate]) -> list[dict[str, Any]]:
    return [
        {
            "table": "2",
            "column": column,
            "name": knowledge,
            "paper": TABLE_2[knowledge][k],
            "ours": estimates[knowledge, column].fit.relative_error_percent,
            "unit": "%",
        }
        for knowledge in BANDS_HZ
        for k, column in enumerate(COLUMNS)
    ]


def _tables(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """As the paper prints them, one row a parameter, ours beside: value (relative standard deviation, Eq. 6)."""
    titles = {
        "1": "Table 1: parameters, good a priori knowledge",
        "2": "Table 2: relative errors",
        "3": "Table 3: parameters, poor a priori knowledge",
    }
    tables: dict[str, dict[str, dict[str, Any]]] = {title: {} for title in titles.values()}
    for row in rows:
        line = tables[titles[row["table"]]].setdefault(
            row["name"], {"name": row["name"], "unit": row["unit"]}
        )
        for who in ("paper", "ours"):
            std = row.get(f"{who}_std_percent")
            decimals = 2 if row["table"] != "2" or who == "ours" else 1
            text = f"{row[who]:.{decimals}f}"
            line[f"{row['column']}, {who}"] = text if std is None else f"{text} ({std:.3g} %)"
    return {title: list(lines.values()) for title, lines in tables.items()}


def _facts(figures: dict[str, Any]) -> dict[str, Any]:
    """The headline numbers in words."""
    facts: dict[str, Any] = {}
    for table in ("1", "3"):
        for column in COLUMNS:
            facts[f"Table {table}, {column}"] = (
                f"largest difference {figures[f'table_{table}_{column}_max_difference']:.3f}, "
                f"{figures[f'table_{table}_{column}_equal_as_printed']} of 28 equal as printed"
            )
    facts["rows of the regression, good knowledge"] = figures["rows"]
    facts["base parameters"] = figures["base_parameters"]
    facts["condition number"] = round(figures["condition_number"])
    facts["essential parameters"] = len(figures["essential_parameters"])
    for knowledge, by_column in figures["lag1_autocorrelation"].items():
        for column, values in by_column.items():
            facts[f"residual autocorrelation at lag 1, {knowledge}, {column}"] = ", ".join(
                f"{x:.2f}" for x in values
            )
    return facts


def _figures(rows: list[dict[str, Any]], estimates: dict[tuple[str, str], Estimate]) -> dict[str, Any]:
    """Headline numbers: differences per table and column, errors, lag-1 autocorrelation."""
    figures: dict[str, Any] = {}
    for table in ("1", "3"):
        for column in COLUMNS:
            chosen = [row for row in rows if row["table"] == table and row["column"] == column]
            size = np.abs([row["difference"] for row in chosen])
            ratio = [row["ours_std_percent"] / row["paper_std_percent"] for row in chosen]
            figures[f"table_{table}_{column}_max_difference"] = float(size.max())
            figures[f"table_{table}_{column}_equal_as_printed"] = int((size <= EQUAL).sum())
            figures[f"table_{table}_{column}_std_ratio"] = [float(min(ratio)), float(max(ratio))]
    figures["relative_error_percent"] = {
        knowledge: {column: estimates[knowledge, column].fit.relative_error_percent for column in COLUMNS}
        for knowledge in BANDS_HZ
    }
    figures["lag1_autocorrelation"] = {
        knowledge: {
            column: [verdict.lag1 for verdict in estimates[knowledge, column].fit.whiteness]
            for column in COLUMNS
        }
        for knowledge in BANDS_HZ
    }
    good = estimates["good", "classical"]
    figures["rows"], figures["base_parameters"] = good.rows, len(good.names)
    figures["condition_number"] = good.condition_number
    figures["scaled_condition_number"] = good.scaled_condition_number
    return figures


def _essential(folder: Path, measured: Recording) -> dict[str, Any]:
    """What backward elimination keeps of the paper's 60 base parameters (motor 6's rotor tied to its own inertia)."""
    signals = method("classical", "good").apply(measured)
    estimate = EssentialParameters().solve(inverse_dynamics(robot(folder, "tied"), signals))
    ours = {name.removesuffix("r") for name in estimate.names}
    assert estimate.white_std is not None
    return {
        "essential_parameters": sorted(ours),
        "essential_only_ours": sorted(ours - set(TABLE_1)),
        "essential_only_paper": sorted(set(TABLE_1) - ours),
        "essential_relative_error_percent": estimate.fit.relative_error_percent,
        "essential_std_percent": {
            name.removesuffix("r"): float(100 * std / abs(value))
            for name, value, std in zip(estimate.names, estimate.values, estimate.white_std, strict=True)
        },
    }


def _notes(figures: dict[str, Any]) -> tuple[str, ...]:
    extra = ", ".join(
        f"{name} ({figures['essential_std_percent'][name]:.1f} %)" for name in figures["essential_only_ours"]
    )
    missing = ", ".join(figures["essential_only_paper"]) or "none of the paper's is missing"
    return (
        f"Essential parameters: {len(figures['essential_parameters'])} by backward elimination at a relative standard "
        f"deviation of 30 %, friction kept; beyond the paper's 28: {extra or 'none'}; {missing}. "
        "The paper does not say at which level it stopped.",
        f"The paper's condition number of 200 is not reproduced: {figures['condition_number']:.0f} with these columns, "
        f"{figures['scaled_condition_number']:.0f} with columns of unit norm.",
        "The printed standard deviations are those of white residuals (Eqs. 6 and 7), as the paper's. The residuals "
        "are correlated, most of all in the poor case: the honest ones are in the column beside.",
    )


CASE = RecordedCase(
    "tx40",
    "Tables 1 to 3 of Brunot, Janot and Carrillo (2017) from the raw recording of a Staubli TX40",
    ("pos_read_data.csv", "curr_data.csv", "tx40.urdf"),
    run,
)
