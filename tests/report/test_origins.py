"""What comes from the prior is called so, and never looks like a measurement."""

import re
from dataclasses import replace
from math import nan, sqrt

import numpy as np
import pytest

from flat_estimate import without
from poinsot.estimate import Body, Certificate
from poinsot.report.bodies import body_table, change_table
from poinsot.report.sections import sections
from poinsot.report.sections.bodies import bodies_section
from poinsot.report.sections.parameters import full_parameters_section
from poinsot.report.sections.provenance import provenance_section
from poinsot.report.tables import full_parameter_table
from poinsot.report.verdicts import HARDLY, Origin, counted_origins, is_measured, origin, share_text


@pytest.mark.parametrize(
    ("share", "word"),
    [
        (0.0, Origin.from_data),
        (0.0999, Origin.from_data),
        (0.1, Origin.mostly_data),
        (0.4999, Origin.mostly_data),
        (0.5, Origin.mostly_prior),
        (0.8999, Origin.mostly_prior),
        (0.9, Origin.from_prior),
        (1.0, Origin.from_prior),
        (nan, None),
        (None, None),
    ],
)
def test_words_begin_at_their_bounds(share, word):
    assert origin(share) is word
    assert is_measured(share) == (word not in (Origin.mostly_prior, Origin.from_prior))


def test_the_bounds_mean_what_is_said_of_them(rng):
    data_std = 0.7
    for share in (0.1, 0.5, 0.9):
        prior_std = data_std * sqrt(1 / share - 1)  # share = data^2 / (data^2 + prior^2)
        prior_var, data_var = prior_std**2, data_std**2
        truth = prior_std * rng.standard_normal(100_000)
        measured = truth + data_std * rng.standard_normal(100_000)
        best = np.linalg.lstsq(measured[:, None], truth, rcond=None)[0][0]
        # The weight of the data in the best estimate, to 4 standard deviations of a slope from so many samples.
        assert best == pytest.approx(
            1 - share, abs=4 * sqrt(share * prior_var / (prior_var + data_var) / 1e5)
        )
    assert 1 / sqrt(1 - HARDLY) - 1 == pytest.approx(0.05, abs=0.005)
    assert 1 - sqrt(1 - HARDLY) == pytest.approx(0.05, abs=0.005)


def test_shares_in_percent():
    assert [share_text(s) for s in (0.0, 1.0, 0.5, 0.2, -1e-17, 1 + 1e-12, 1e-9, nan)] == [
        "100 % data", "100 % prior", "50 % prior", "80 % data", "100 % data", "100 % prior", "> 99 % data", "–",
    ]  # fmt: skip
    assert counted_origins([nan, 0.2, 0.95, 0.95]) == ("1 mostly data", "2 from prior")


def texts(row):
    return [cell.text for cell in row]


def test_a_value_from_the_prior_is_in_brackets_and_has_no_other_verdict(tx40):
    table = full_parameter_table(tx40.full_parameters)
    assert len(table.rows) == len(tx40.full_parameters.names) == 78
    by_name = {row[0].text: row for row in table.rows}
    checked = set()
    for index, name in enumerate(tx40.full_parameters.names):
        row, share = by_name[name], tx40.full_parameters.prior_share[index]
        measured = share < 0.5
        assert (
            re.fullmatch(r"\(.*\)", row[2].text) is None if measured else re.fullmatch(r"\(.*\)", row[2].text)
        )
        assert (row[2].tone, row[3].tone, row[5].tone) == (3 * ("",) if measured else 3 * ("assumed",))
        assert ("prior" in row[8].text) != measured
        assert row[7].bar == pytest.approx(1 - share) and row[7].tone == "shared"
        checked.add(measured)
    assert checked == {True, False}


def test_values_end_where_their_standard_deviations_do_and_groups_are_bodies(tx40):
    full = replace(
        tx40.full_parameters,
        values=np.r_[8.0689, tx40.full_parameters.values[1:]],
        covariance=np.diag(np.r_[0.0557**2, np.diag(tx40.full_parameters.covariance)[1:]]),
        prior=np.r_[9.0, tx40.full_parameters.prior[1:]],
        prior_share=np.r_[0.02, tx40.full_parameters.prior_share[1:]],
    )
    table = full_parameter_table(full)
    assert texts(table.rows[0]) == [
        "m1", "mass", "8.07", "0.06", "kg", "[7.96, 8.18]", "9", "98 % data", "● well known",
    ]  # fmt: skip
    assert [count for _, count in table.groups] == [10] * 6 + [3] * 6
    headings = [heading.split(":")[0] for heading, _ in table.groups]
    assert headings == [f"link_{k}" for k in range(1, 7)] + [f"joint_{k}" for k in range(1, 7)]
    assert [len(rows) for _, rows in table.grouped] == [10] * 6 + [3] * 6


def test_from_data_does_not_mean_well_known(tx40):
    full = replace(
        tx40.full_parameters,
        covariance=np.eye(78) * 1e6,
        prior_share=np.zeros(78),
        values=np.r_[0.0, np.ones(77)],
    )
    for row in full_parameter_table(full).rows:
        assert row[8].text == "∅ zero within its interval" and row[8].tone == "fair"


def test_unknown_shares_and_priors_are_left_open(tx40):
    full = replace(tx40.full_parameters, prior=np.full(78, nan), prior_share=np.full(78, nan))
    row = full_parameter_table(full).rows[0]
    assert row[6].text == row[7].text == "–" and row[7].bar is None
    assert full_parameters_section(tx40.updated(full)).lead.startswith("78 parameters. ")


def test_every_body_has_a_verdict(tx40):
    rows = {row[0].text: texts(row) for row in change_table(tx40.bodies).rows}
    assert rows["link_4"][-1] == "✕ impossible" and rows["link_6"][-1] == "– not determined"
    assert rows["link_5"][1] == "✕ impossible" and rows["link_5"][5] == "–"
    for body in (tx40.bodies[0], tx40.bodies[1]):
        said = rows[body.name]
        assert said[1] == "● possible" and said[-1].endswith(f"possible, {origin(body.prior_share).value}")
        assert float(said[3]) == pytest.approx(body.mass / body.prior[0], abs=0.005)
    assert rows["link_3"][5] == "∞", "a flat body is infinitely far from one with extent"


def test_the_bodies_section_gives_reasons(tx40):
    section = bodies_section(tx40)
    findings = section.blocks[0].findings
    assert [severity for severity, _ in findings] == ["warning", "note"]
    assert (
        findings[0][1].startswith("link_4 is physically impossible: ") and "exceeds Dy + Dz" in findings[0][1]
    )
    assert findings[1][1].startswith("link_5 was impossible before the data: ")
    assert section.lead.startswith("The mass properties of link_4 are physically impossible")
    assert "Where they come from:" in section.lead
    good = bodies_section(replace(tx40, bodies=tx40.bodies[:2]))
    assert good.lead.startswith("All of the 2 bodies are physically possible.")
    assert [type(block).__name__ for block in good.blocks] == ["Table", "Table"]


def test_mass_properties_end_where_their_standard_deviations_do(tx40):
    sure = replace(tx40.bodies[0], covariance=np.eye(10) * 1e-8, prior_share=0.0)
    unsure = replace(sure, covariance=np.eye(10) * 1e-2)
    fine, coarse = (body_table([body]).rows[0][1].text for body in (sure, unsure))
    assert len(fine) > len(coarse) and float(fine) == pytest.approx(sure.mass, rel=1e-4)
    assert body_table([replace(sure, prior_share=0.8)]).rows[0][1].text == f"({fine})"


def test_estimates_from_before_priors_have_one_table(tx40):
    old = (Body("a", 1.25, np.array([0, 0, 0.1]), np.diag([1.0, 1.0, 0.5]), True, 0.2), Body("b"))
    section = bodies_section(without(tx40.updated(bodies=old), "full_parameters"))
    (table,) = section.blocks
    assert table.title == "" and "brackets" not in table.caption
    assert texts(table.rows[0]) == ["a", "1.25", "0, 0, 0.1", "1, 1, 0.5", "0, 0, 0", "0.2", "● possible"]
    assert texts(table.rows[1])[1:6] == 5 * ["–"]
    titles = [section.title for section in sections(without(tx40, "full_parameters"))]
    assert "Every parameter" not in titles and "Bodies" in titles


class Certified:
    """A problem that only knows its certificate."""

    def __init__(self, certificate):
        self.certificate = certificate

    def certify(self, estimate):
        return self.certificate


def test_the_certificate_is_on_the_page_with_its_gap(tx40):
    def method(problem):
        section = provenance_section(replace(tx40, problem=problem))
        return dict(next(block for block in section.blocks if block.title == "Method").facts)

    bounded = method(Certified(Certificate(1e-9, True, 1e-6, primal=30.5, dual=30.25)))
    assert bounded["Cost (primal)"] == "30.5"
    assert bounded["Lower bound of the cost (dual)"] == "30.25"
    assert bounded["Duality gap"].startswith("0.25")
    assert bounded["Certificate"].startswith("holds")
    broken = method(Certified(Certificate(1e-3, False, 1e-6, primal=30.5, dual=20.0)))
    assert broken["Certificate"].startswith("does not hold") and "violated" in broken["Certificate"]
    stationary = method(Certified(Certificate(1e-13, True)))
    assert (
        "the gradient is 1e-13 of its terms" in stationary["Certificate"]
        and "Cost (primal)" not in stationary
    )
    assert "Certificate" not in method(None)
