"""The picture of the bodies: drawn where they are, as large as they are, and what cannot be drawn is said."""

import json
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Body
from poinsot.inertia.parameters import from_physical, pseudo_inertia
from poinsot.report.figures.ellipsoids import COARSE, FEW, FINE, SHADES, ellipsoid_grid, unit_sphere
from poinsot.report.verdicts import origin


def unpacked(value):
    return np.frombuffer(b64decode(value["bdata"]), dtype=f"<{value['dtype']}").astype(float)


def points(trace):
    return np.stack([unpacked(trace[axis]) for axis in "xyz"], axis=-1)


def traces(estimate, kind, group):
    (panel,) = ellipsoid_grid(estimate).panels
    return [
        trace
        for trace in panel.data
        if trace["type"] == kind and trace["legendgroup"] == group and isinstance(trace["x"], dict)
    ]


def on_surface(places, body, pi):
    """(V,) 1 where a point of the world is on the ellipsoid (p - c)^T (5 Sigma_c / m)^-1 (p - c) = 1."""
    J = pseudo_inertia(pi)
    m, c = J[3, 3], J[:3, 3] / J[3, 3]
    Sigma_c = J[:3, :3] - m * np.outer(c, c)
    p_b = np.linalg.solve(body.placement, np.c_[places, np.ones(len(places))].T)[:3].T
    return np.einsum("vi,ij,vj->v", p_b - c, np.linalg.inv(5 * Sigma_c / m), p_b - c)


@pytest.fixture
def solid(tx40):
    """The arm without its flat and its impossible bodies."""
    return replace(tx40, bodies=tuple(tx40.bodies[k] for k in (0, 1)))


@pytest.mark.parametrize(("meridians", "parallels"), [FINE, COARSE])
def test_the_sphere_is_closed_round_and_turned_outwards(meridians, parallels):
    vertices, facets = unit_sphere(meridians, parallels)
    assert np.allclose(np.linalg.norm(vertices, axis=1), 1)
    assert len(vertices) <= 256, "indices travel as one byte"
    edges = np.concatenate([facets[:, [0, 1]], facets[:, [1, 2]], facets[:, [2, 0]]])
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}
    volume = np.linalg.det(vertices[facets]).sum() / 6
    ball = 4 / 3 * np.pi
    assert 0.9 * ball < volume < ball


def test_every_body_is_drawn_where_it_is_and_as_large_as_it_is(solid):
    drawn = traces(solid, "mesh3d", "now")
    before = traces(solid, "scatter3d", "before")
    assert len(drawn) == len(before) == len(solid.bodies)
    for body, now, old in zip(solid.bodies, drawn, before, strict=True):
        # Numbers of 24 bits: 1e-7 of a coordinate of 1 m, on semi-axes of some centimetres.
        np.testing.assert_allclose(on_surface(points(now), body, body.inertial), 1, atol=1e-4)
        ellipses = points(old)
        ellipses = ellipses[np.isfinite(ellipses).all(axis=1)]
        np.testing.assert_allclose(on_surface(ellipses, body, body.prior), 1, atol=1e-4)


def test_lines_join_the_frames_of_parents_and_children(tx40):
    bodies = tx40.bodies[:5]
    lines, _ = traces(tx40, "scatter3d", "frames")
    ends = points(lines).reshape(-1, 3, 3)
    assert np.isnan(ends[:, 2]).all()
    origins = [np.zeros(3), *(body.placement[:3, 3] for body in bodies)]
    for k in range(5):
        np.testing.assert_allclose(ends[k, :2], [origins[k], origins[k + 1]], atol=1e-6)


def test_all_axes_have_the_same_scale_and_hold_all_bodies(tx40):
    (panel,) = ellipsoid_grid(tx40).panels
    scene = panel.layout["scene"]
    ranges = np.array([scene[f"{name}axis"]["range"] for name in "xyz"])
    sides = np.array([scene["aspectratio"][name] for name in "xyz"])
    scale = sides / np.ptp(ranges, axis=1)
    np.testing.assert_allclose(scale, scale[0], rtol=1e-4)
    for trace in traces(tx40, "mesh3d", "now"):
        assert np.all(points(trace) >= ranges[:, 0]) and np.all(points(trace) <= ranges[:, 1])


def test_flat_bodies_are_drawn_and_impossible_ones_are_named(tx40):
    grid = ellipsoid_grid(tx40)
    shown = [trace["hovertext"].split("</b>")[0] for trace in traces(tx40, "mesh3d", "now")]
    assert shown == ["<b>link_1", "<b>link_2", "<b>link_3", "<b>link_5"]  # link_3 is flat, link_6 unknown
    assert (
        "Not drawn, since physically impossible: link_4 identified and link_5 before the data."
        in grid.caption
    )
    assert "Not drawn" not in ellipsoid_grid(replace(tx40, bodies=tx40.bodies[:2])).caption


def test_the_legend_hides_old_and_new_apart(tx40):
    (panel,) = ellipsoid_grid(tx40).panels
    keys = [trace for trace in panel.data if trace.get("showlegend", True)]
    assert {key["legendgroup"] for key in keys} == {trace["legendgroup"] for trace in panel.data}
    assert len({key["name"] for key in keys}) == len(keys)
    assert panel.layout["showlegend"] and {key["legendgroup"] for key in keys} == {"now", "before", "frames"}


def test_the_paler_the_less_is_from_the_data(tx40):
    for body, trace in zip(
        [tx40.bodies[k] for k in (0, 1, 2, 4)], traces(tx40, "mesh3d", "now"), strict=True
    ):
        word = origin(body.prior_share)
        assert trace["color"] == SHADES[word] and f"possible, {word.value}" in trace["hovertext"]
    lightness = [sum(bytes.fromhex(shade[1:])) for shade in SHADES.values()]
    assert lightness == sorted(lightness)


def test_hovering_says_what_a_body_is(tx40):
    body = tx40.bodies[0]
    text = traces(tx40, "mesh3d", "now")[0]["hovertext"]
    assert "<b>link_1</b>, identified<br>mass " in text and " ± " in text
    assert f"mass {body.mass / body.prior[0]:.3g} times that before" in text
    assert "link_1</b>, before the data<br>mass 9 kg" in traces(tx40, "scatter3d", "before")[0]["hovertext"]


def test_one_that_is_far_too_large_does_not_hide_the_others(tx40):
    huge = from_physical(1e-3, np.zeros(3), np.diag([1.0, 1.0, 1.0]))
    large = replace(tx40.bodies[0], inertial=huge)
    grid = ellipsoid_grid(replace(tx40, bodies=(large, *tx40.bodies[1:])))
    assert "cut off at its edge: link_1." in grid.caption
    scene, other = (g.panels[0].layout["scene"] for g in (grid, ellipsoid_grid(tx40)))
    assert scene["zaxis"]["range"][1] == pytest.approx(other["zaxis"]["range"][1], rel=0.2)


def test_thirty_bodies_stay_light(tx40, many_bodies):
    _, bodies = many_bodies
    (panel,) = ellipsoid_grid(replace(tx40, bodies=bodies)).panels
    assert len(json.dumps(panel.plotly, separators=(",", ":"))) < 150_000
    assert f"and {30 - FEW} more" in panel.alt


def test_nothing_is_drawn_of_bodies_without_a_place(tx40, emps):
    assert ellipsoid_grid(emps) is None
    assert ellipsoid_grid(replace(tx40, bodies=(Body("a", mass=1.0),))) is None
    unplaced = tuple(replace(body, placement=None) for body in tx40.bodies)
    assert ellipsoid_grid(replace(tx40, bodies=unplaced)) is None


def test_one_body_at_the_origin_is_a_picture_too(tx40):
    point = from_physical(1.0, np.zeros(3), np.zeros((3, 3)))
    for pi in (point, tx40.bodies[0].inertial):
        alone = Body("alone", inertial=pi, placement=np.eye(4))
        (panel,) = ellipsoid_grid(replace(tx40, robot="", bodies=(alone,))).panels
        ranges = [panel.layout["scene"][f"{name}axis"]["range"] for name in "xyz"]
        assert all(low < high for low, high in ranges)
        assert panel.alt.startswith("The robot at its neutral configuration")


def test_names_stay_names(tx40):
    evil = "<img src=x>%{x}"
    grid = ellipsoid_grid(replace(tx40, bodies=(replace(tx40.bodies[0], name=evil),)))
    texts = [text for trace in grid.panels[0].data for text in np.atleast_1d(trace.get("hovertext", ""))]
    assert any("&lt;img src=x&gt;%{x}" in text for text in texts) and not any(
        "<img" in text for text in texts
    )


def test_plotly_knows_every_word_of_it(tx40):
    graph_objects = pytest.importorskip("plotly.graph_objects")
    (panel,) = ellipsoid_grid(tx40).panels
    graph_objects.Figure(list(panel.data), panel.layout)  # it refuses what it does not know


def test_bodies_that_were_not_estimated_are_drawn_as_described(solid):
    """The description has both bodies; the second was not estimated, and the first came without a place."""
    first, second = solid.bodies
    described = tuple(replace(body, inertial=None, covariance=None) for body in solid.bodies)
    loose = replace(first, placement=None, parent="", prior=None)
    partly = replace(solid, bodies=(loose, Body(second.name)), described=described)
    (now,) = traces(partly, "mesh3d", "now")
    (other,) = traces(partly, "mesh3d", "others")
    (before,) = traces(partly, "scatter3d", "before")
    # six digits of single precision, squared and summed
    assert np.allclose(on_surface(points(now), first, first.inertial), 1, atol=1e-4)
    assert np.allclose(on_surface(points(other), second, second.prior), 1, atol=1e-4)
    drawn = points(before)
    assert np.allclose(on_surface(drawn[np.isfinite(drawn).all(axis=1)], first, first.prior), 1, atol=1e-4)
    grid = ellipsoid_grid(replace(partly, bodies=()))
    assert grid.panels[0].note == "2 bodies as described" and "no single body was identified" in grid.caption
