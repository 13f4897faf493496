"""The section of a load and drive gains: verdicts, and what is said where nothing is known."""

from dataclasses import replace

import numpy as np
import pytest

from flat_estimate import without
from poinsot.report.sections.payload import payload_section


def cells(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_an_estimate_without_a_load_has_no_section(emps):
    assert payload_section(emps) is None


def test_each_quantity_has_its_verdict(tx40):
    section = payload_section(tx40)
    load, gains = section.blocks
    rows = cells(load)
    assert len(rows) == 10
    assert rows["mass"][:4] == ["2.80", "0.05", "kg", "[2.70, 2.90]"]
    assert rows["mass"][-1] == rows["centre of mass, x"][-1] == "● determined"
    assert rows["inertia about the centre of mass, xy"][-1] == "○ hardly determined"
    assert "All ten parameters together: physically possible." in load.caption
    assert section.lead == (
        "The load on tool0 weighs 2.80 ± 0.05 kg (95 %: [2.70, 2.90]). 5 of 6 drive gains are known to 5 % or better."
    )
    assert len(gains.rows) == 6


def test_what_is_not_identifiable_has_no_number(tx40):
    unseen = replace(
        tx40.payload, mass=np.nan, mass_std=np.nan, center_of_mass=np.full(3, np.nan), identifiable=()
    )
    section = payload_section(without(tx40.updated(unseen), "drive_gains"))
    rows = cells(section.blocks[0])
    assert rows["mass"] == ["–", "–", "kg", "–", "✕ not identifiable"]
    assert section.lead == "The recordings do not determine the mass of the load on tool0."


def test_what_was_known_is_no_result(tx40):
    weighed = replace(tx40.payload, mass_std=0.0, known=("mass",), physically_consistent=False)
    section = payload_section(tx40.updated(weighed))
    assert cells(section.blocks[0])["mass"][-2:] == ["–", "– known before"]
    assert section.lead.startswith("The load on tool0 is known to weigh 2.8 kg.")
    assert "together: physically impossible" in section.blocks[0].caption


def test_a_gain_that_gravity_does_not_show_says_so(tx40):
    rows = cells(payload_section(tx40).blocks[1])
    assert rows["joint_1"][-1] == "○ poorly known, only by inertia: gravity does not act on this joint"
    assert rows["joint_1"][-2] == "20.2 %"
    assert {row[-1] for joint, row in rows.items() if joint != "joint_1"} == {"● known"}


def test_gains_that_were_given_are_shown_as_such(tx40):
    given = replace(tx40.drive_gains, identified=False, covariance=np.zeros((6, 6)))
    section = payload_section(tx40.updated(given))
    assert {row[-1] for row in cells(section.blocks[1]).values()} == {"– given"}
    assert "drive gains are known" not in section.lead


@pytest.mark.parametrize("moving", [(), (8.0, np.nan)])
def test_errors_while_moving_have_a_column_where_they_are_known(emps, moving):
    from poinsot.report.tables import fit_table

    fit = replace(emps.fit, moving_error_percent_per_joint=moving[:1])
    table = fit_table(fit)
    assert ("while moving" in [column.title for column in table.columns]) is bool(moving)
    assert ("At standstill dry friction" in table.caption) is bool(moving)
    assert all(len(row) == len(table.columns) for row in table.rows)
