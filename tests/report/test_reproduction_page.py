"""The page of a case: tables, comparisons of methods joint by joint, and curves."""

import json
import re
from dataclasses import replace

import numpy as np

from poinsot_reproductions.case import Curves, Reproduction
from poinsot_reproductions.comparison import autocorrelation_comparison, effort_comparison


def test_comparisons_have_a_panel_for_each_joint_and_method(build_fit):
    joints = ("a", "b", "c")
    fits = {method: build_fit(joints, 300) for method in ("Classical", "IRWSM 1")}
    efforts, correlations = effort_comparison(fits), autocorrelation_comparison(fits)
    assert len(efforts.data) == 3 * 2 * 3 and len(correlations.data) == 3 * 2
    for figure in (efforts, correlations):
        axes = [key for key in figure.layout if key.startswith("xaxis")]
        assert len(axes) == 6 and {trace["xaxis"].replace("x", "xaxis") for trace in figure.data} == set(axes)
        texts = [note["text"] for note in figure.layout["annotations"]]
        assert texts[:2] == ["Classical", "IRWSM 1"]
        domains = [figure.layout[key]["domain"] for key in figure.layout if key[1:5] == "axis"]
        assert all(0 <= low < high <= 1 for low, high in domains)
    assert len(correlations.layout["shapes"]) == 6


def test_comparisons_are_json_and_names_are_not_markup(build_fit):
    fits = {"<i>a</i>": build_fit(('<b>"elbow"</b>',), 80), "b": build_fit(('<b>"elbow"</b>',), 80)}
    for figure in (effort_comparison(fits), autocorrelation_comparison(fits)):
        text = json.dumps(figure.plotly, allow_nan=False)
        assert "<b>" not in text and "<i>" not in text


def test_the_page_of_a_case(build_fit, tmp_path):
    fits = {method: build_fit(("a", "b"), 100) for method in ("Classical", "IRWSM 1", "IRWSM 2")}
    rows = ({"name": "zz1r", "paper": 1.24, "ours": 1.2391}, {"name": "fc1", "paper": 6.9, "ours": None})
    pictures = {"Fig. 3": "autocorrelation", "Fig. 4": "effort"}
    time = np.arange(5) * 0.1
    result = Reproduction(
        "tx40", "002", "TX40", "As published.", rows, {"Table 1": rows}, facts={"relative error": 5.0612},
        fits=dict.fromkeys(pictures, fits), pictures=pictures, notes=("One differs.",),
        curves={"Mass": Curves(time, "kg", {"ours": np.ones(5)})},
    )  # fmt: skip
    result.write_page(tmp_path / "tx40.html")
    text = (tmp_path / "tx40.html").read_text()
    words = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert "zz1r 1.24 1.2391 fc1 6.9" in words
    assert all(said in words for said in ("TX40", "As published.", "Table 1", "One differs.", "5.0612"))
    assert all(title in words for title in (*pictures, "Mass"))
    assert text.count('<div class="plot"') == 3
    result = replace(result, tables={"Table 1": rows, "Table 2": rows})
    result.write_page(tmp_path / "tx40.html")
    folded = re.findall(
        r"<details.*?<summary>(.*?)</summary>", (tmp_path / "tx40.html").read_text(), re.DOTALL
    )
    said = [" ".join(re.sub(r"<[^>]+>", " ", each).split()) for each in folded]
    assert [any(each.startswith(title) for each in said) for title in ("Result", "Table 1")] == [False, False]
    assert all(any(each.startswith(title) for each in said) for title in ("Table 2", "Figures"))
