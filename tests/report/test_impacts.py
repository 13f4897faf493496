"""The section of a thrown body: the animation shows the body, all impacts are drawn, and omissions are stated."""

import json
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from flat_estimate import without
from poinsot.estimate.motions import Impact, Impacts, Scene
from poinsot.recording import Recording
from poinsot.report.figures.drops import MOST_DROPS, MOST_FRAMES, drop_figure, drop_grid, placed
from poinsot.report.figures.impacts import (
    MOST_PANELS,
    cone_figure,
    cone_grid,
    energy_figure,
    energy_grid,
    impulse_figure,
    impulse_grid,
)
from poinsot.report.sections.impacts import impact_table, impacts_section
from references.thrown_square import FRICTION, SIDE, WALLS, thrown_square

BLOW = Impact("drop 1", 0.25, "corner 2 on the floor", 1.5, -0.3, "m/s", 0.4, "slides", 0.7, 0.6)
SQUARE = 0.5 * SIDE * np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])


@pytest.fixture
def thrown(emps, rng):
    return thrown_square(emps, rng)


def scene(friction=FRICTION, least=nan, **more):
    return Scene(SQUARE, WALLS, friction, least, **more)


def drawn(trace):
    """(k, 2), NaN at gaps."""
    return np.array([trace["x"], trace["y"]], dtype=float).T


def named(figure, name):
    (trace,) = (trace for trace in figure.data if trace.get("name") == name)
    return trace


# ------------------------------------------------------------------------------------------ the section


def test_an_estimate_without_a_scene_has_no_section(emps):
    assert impacts_section(emps) is None


def test_everything_is_shown(thrown):
    section = impacts_section(thrown)
    assert [block.title for block in section.blocks] == [
        "Estimated motion and tracked poses", "Impulses", "Friction cone", "Energy", "Impact by impact",
    ]  # fmt: skip
    slid = sum(impact.mode == "slides" for impact in thrown.impacts)
    assert section.lead.startswith(
        f"{len(thrown.impacts)} impacts in 2 recordings: the contact point slides at the end of {slid} and sticks"
    )
    assert "Restitution is 0.5." in section.lead


def test_a_body_that_strikes_nothing_is_still_drawn(thrown):
    section = impacts_section(without(thrown, "impacts"))
    assert section.lead == "The body hit nothing."
    assert [block.title for block in section.blocks] == ["Estimated motion and tracked poses", "Energy"]
    bare = without(thrown, "impacts", "motions").updated(scene())
    assert impacts_section(bare).blocks == ()


@pytest.mark.parametrize(
    ("changes", "friction", "words"),
    [
        (
            [{}],
            {},
            "1 impact in 1 recording: the contact point slides at the end of 1. Friction is 0.23. Restitution is 0.4. "
            "Of the information on J/m, the one at 0.25 s of drop 1 alone carries 60 %, with the frames "
            "until the next.",
        ),
        (
            [
                {"share": 0.3, "restitution": 0.2},
                {"share": 0.25, "mode": "sticks"},
                {"share": 0.4, "time": 0.5},
            ],
            {"friction": nan, "least": 0.31},
            "3 impacts in 1 recording: the contact point slides at the end of 2 and sticks at the end of 1. "
            "Friction is at least 0.31; the impacts do not determine it. "
            "Restitution is 0.4 in the median, from 0.2 to 0.4. "
            "Of the information on J/m, 2 impacts carry 70 %, the one at 0.5 s of drop 1 alone 40 %, with the frames "
            "until the next.",
        ),
        (
            [{"mode": "", "restitution": nan, "share": nan}] * 2,
            {"friction": nan},
            "2 impacts in 1 recording.",
        ),
    ],
)
def test_the_lead_says_what_is_known_and_nothing_else(emps, changes, friction, words):
    impacts = tuple(replace(BLOW, **change) for change in changes)
    assert impacts_section(emps.updated(Impacts(impacts), scene(**friction))).lead == words


def test_the_table_has_the_largest_impulses_first_and_counts_the_rest():
    impacts = [replace(BLOW, normal=float(k), share=nan, restitution=nan, mode="") for k in range(1, 46)]
    table = impact_table(impacts)
    assert [float(row[3].text) for row in table.rows] == list(range(45, 5, -1))
    assert table.caption.endswith("5 impacts with smaller impulses are left out.")
    assert [table.rows[0][k].text for k in (5, 6, 8)] == ["–", "–", "–"]
    assert "left out" not in impact_table(impacts[:40]).caption
    assert impact_table(impacts[:41]).caption.endswith("1 impact with smaller impulses is left out.")


def test_the_units_are_those_of_the_impulses():
    titles = [column.title for column in impact_table([BLOW]).columns]
    assert "Normal [m/s]" in titles and "Energy lost [J/kg]" in titles
    titles = [column.title for column in impact_table([replace(BLOW, unit="N s")]).columns]
    assert "Normal [N\u00a0s]" in titles and "Energy lost [J]" in titles


# ------------------------------------------------------------------------------------------ a drop, played back


def test_a_body_is_placed_as_complex_numbers_turn_it(rng):
    pose, points = rng.normal(size=3), rng.normal(size=(5, 2))
    turned = complex(*pose[:2]) + np.exp(1j * pose[2]) * (points @ [1, 1j])
    np.testing.assert_allclose(placed(pose, points) @ [1, 1j], turned, rtol=1e-12)


def test_the_frames_follow_the_path(thrown):
    motion = thrown.motions[0]
    figure = drop_figure(motion, thrown.scene)
    assert len(figure.frames) == MOST_FRAMES
    assert {tuple(frame["traces"]) for frame in figure.frames} == {(len(figure.data) - 1,)}
    assert drawn(figure.data[-1])[:4] == pytest.approx(drawn(figure.frames[0]["data"][0])[:4])
    times = [float(frame["name"]) for frame in figure.frames]
    assert (times[0], times[-1]) == pytest.approx((motion.path.time[0], motion.path.time[-1]), abs=1e-4)
    for frame, time in zip(figure.frames, times, strict=True):
        k = int(np.argmin(np.abs(motion.path.time - time)))
        pose = np.array([motion.path[f"position.{name}"][k] for name in ("x", "y", "angle")])
        points = drawn(frame["data"][0])
        spoke = points[-2:]
        # Numbers are drawn with six digits of the largest, here below 1 m.
        np.testing.assert_allclose(points[:5], placed(pose, SQUARE[[0, 1, 2, 3, 0]]), atol=2e-6)
        assert np.isnan(points[5]).all() and spoke[0] == pytest.approx(pose[:2], abs=2e-6)
        assert np.linalg.norm(spoke[1] - pose[:2]) == pytest.approx(SIDE / np.sqrt(2), abs=4e-6)


def test_both_axes_have_one_scale_and_hold_the_motion(thrown):
    figure = drop_figure(thrown.motions[0], thrown.scene)
    assert figure.layout["yaxis"]["scaleanchor"] == "x"
    everywhere = np.concatenate([drawn(frame["data"][0]) for frame in figure.frames])
    for column, name in enumerate(("xaxis", "yaxis")):
        low, high = figure.layout[name]["range"]
        assert low < np.nanmin(everywhere[:, column]) and np.nanmax(everywhere[:, column]) < high


def test_tracked_poses_are_points_and_missing_ones_are_none(thrown):
    motion = thrown.motions[0]
    points = drawn(named(drop_figure(motion, thrown.scene), "tracked"))
    np.testing.assert_allclose(points, motion.sensors[0].measured[:, :2], atol=1e-6)
    assert np.isnan(points[7]).all()
    unread = replace(motion, sensors=())
    assert named(drop_figure(unread, thrown.scene), "tracked")["x"] == []
    assert "0 tracked poses" in drop_figure(unread, thrown.scene).alt


def test_walls_are_lines_whose_solid_side_is_away_from_the_body(thrown):
    figure = drop_figure(thrown.motions[0], thrown.scene)
    walls = [drawn(trace) for trace in figure.data if trace["name"] == "wall"]
    assert len(walls) == len(WALLS)
    for polygon, (x, y, slope) in zip(walls, WALLS, strict=True):
        normal = np.array([-np.sin(slope), np.cos(slope)])
        heights = (polygon - [x, y]) @ normal
        # Six digits of lines that go on for some ten metres.
        assert heights[:2] == pytest.approx(0, abs=1e-3) and np.all(heights[2:4] < -1)


def test_long_recordings_stay_small(thrown):
    motion = thrown.motions[0]
    time = np.linspace(0, 20, 20_000)
    channels = {f"position.{name}": np.sin(time * k) for k, name in enumerate(("x", "y", "angle"), 1)}
    path = Recording(time, channels, dict.fromkeys(channels, "m"))
    read = np.column_stack(list(channels.values()))
    fit = replace(motion.sensors[0], measured=read, predicted=read, normalized=0 * read)
    turn = np.linspace(0, 2 * np.pi, 180)
    circle = replace(thrown.scene, outline=np.column_stack([np.cos(turn), np.sin(turn)]))
    figure = drop_figure(replace(motion, path=path, sensors=(fit,)), circle)
    assert len(figure.frames) == MOST_FRAMES and figure.note == f"{MOST_FRAMES} frames of 20000 samples"
    assert len(json.dumps(figure.plotly)) < 200_000
    body = drawn(figure.frames[-1]["data"][0])
    spoke = body[-1] - body[-2]
    assert spoke == pytest.approx([np.cos(np.sin(60)), np.sin(np.sin(60))], abs=0.02)


def test_the_first_few_of_many_recordings_are_shown_and_it_says_so(emps, rng):
    many = thrown_square(emps, rng, count=8)
    drops = drop_grid(many.motions, many.scene)
    assert [panel.title for panel in drops.panels] == [f"drop {k + 1}" for k in range(MOST_DROPS)]
    assert drops.caption.endswith(f"The first {MOST_DROPS} of 8 recordings are shown.")
    for grid in (impulse_grid(many.impacts, many.motions), energy_grid(many.scene, many.impacts)):
        assert len(grid.panels) == MOST_PANELS
        assert grid.caption.endswith(f"The first {MOST_PANELS} of 8 recordings are shown.")
    assert "shown" not in drop_grid(many.motions[:2], many.scene).caption


# ------------------------------------------------------------------------------------------ impulses and energy


def test_each_impact_is_a_stem_from_zero_in_both_panels():
    impacts = [BLOW, replace(BLOW, time=0.4, normal=0.5, tangential=0.1, mode="sticks")]
    figure = impulse_figure(impacts, np.array([0.0, 1.0]))
    stems, tips = figure.data[0], figure.data[1]
    assert (stems["x"], stems["y"]) == ([0.25, 0.25, None, 0.4, 0.4, None], [0, 1.5, None, 0, 0.5, None])
    assert (tips["x"], tips["y"]) == ([0.25, 0.4], [1.5, 0.5])
    assert tips["marker"]["symbol"] == ["circle", "circle-open"]
    assert named(figure, "tangential")["y"] == [-0.3, 0.1]
    low, high = figure.layout["xaxis"]["range"]
    assert low < 0 and high > 1
    assert "1.5 and -0.3 at 0.25 s" in figure.alt
    assert "range" not in impulse_figure(impacts).layout["xaxis"]


def test_only_modes_that_occur_are_in_the_legend(thrown):
    grid = impulse_grid([BLOW], thrown.motions)
    assert grid.legend == (("dot", "slides at its end"),)
    unsaid = impulse_grid([replace(BLOW, mode="")], thrown.motions)
    assert unsaid.legend == (("cross", "not determined"),)


def test_the_edges_of_the_cone_are_friction_times_the_normal_impulse():
    impacts = [BLOW, replace(BLOW, mode="sticks", tangential=0.1), replace(BLOW, mode="", normal=0.5)]
    edge = named(cone_figure(impacts, scene()), "friction times normal impulse")
    ends = drawn(edge)
    np.testing.assert_allclose(np.abs(ends[:, 1]), FRICTION * ends[:, 0], rtol=1e-5)
    assert ends[0, 0] > 1.5 and ends[1] == pytest.approx([0, 0]) and edge["line"]["dash"] == "solid"
    points = cone_figure(impacts, scene()).data[1:]
    assert [trace["name"] for trace in points] == [
        "slides at its end",
        "sticks at its end",
        "not determined",
    ]
    assert [drawn(trace).tolist() for trace in points] == [[[1.5, -0.3]], [[1.5, 0.1]], [[0.5, -0.3]]]


def test_a_bound_on_friction_is_dashed_and_said():
    bounded = cone_figure([BLOW], scene(nan, 0.31))
    edge = named(bounded, "least friction times normal impulse")
    assert edge["line"]["dash"] != "solid" and bounded.note == "friction is at least 0.31"
    assert "only a lower bound" in cone_grid([BLOW], scene(nan, 0.31)).caption
    unknown = cone_figure([BLOW], scene(nan))
    assert [trace["mode"] for trace in unknown.data] == ["markers"]
    assert "No edge" in cone_grid([BLOW], scene(nan)).caption


def test_energy_steps_where_a_time_is_twice():
    time, energy = np.array([0.0, 0.25, 0.25, 1.0]), np.array([3.0, 3.0, 2.0, 2.0])
    figure = energy_figure("drop 1", time, energy, "J/kg", [0.25])
    (trace,) = figure.data
    assert (trace["x"], trace["y"]) == (time.tolist(), energy.tolist())
    assert [shape["x0"] for shape in figure.layout["shapes"]] == [0.25]
    assert figure.note == "from 3 to 2 J/kg" and figure.layout["yaxis"]["title"]["text"] == "energy [J/kg]"
    grid = energy_grid(scene(energy={"drop 1": (time, energy)}), [replace(BLOW, unit="N s")])
    assert grid.panels[0].note == "from 3 to 2 J"
    assert energy_grid(scene(), [BLOW]) is None


def test_figures_are_json_described_and_names_are_not_markup(thrown):
    evil = "<b>drop</b>"
    impacts = [replace(one, recording=evil, contact=evil, restitution=inf) for one in thrown.impacts]
    motions = [replace(motion, name=evil) for motion in thrown.motions]
    energy = {evil: (np.zeros(1), np.ones(1))}
    grids = (
        drop_grid(motions, thrown.scene),
        impulse_grid(impacts, motions),
        cone_grid(impacts, thrown.scene),
        energy_grid(scene(energy=energy), impacts),
    )
    for grid in grids:
        for panel in grid.panels:
            assert "<b>" not in json.dumps(panel.plotly, allow_nan=False) and panel.alt
