"""Remedies of findings work: the lines that a message proposes are written into the project, which is run again. The
finding then is gone, and the parameters are those of a project without the defect.
"""

import ast
import re
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest

import poinsot
from poinsot.diagnosis import causes
from poinsot.project import Project, identify
from poinsot.project.methods import find_method, method_names
from poinsot.project.settings import Settings

ARM = Path(__file__).resolve().parents[1] / "examples/arm"
VALUE = r"\{[^}]*\}|\[[^\]]*\]|\"[^\"]*\"|-?[\d.]+(?:e[-+]?\d+)?|true|false"
ASSIGNMENT = re.compile(rf"(\w+) = ({VALUE})")
PLACE = re.compile(
    r"\[+(\w+)\]+|((?:position|torque|velocity)(?: and in (?:position|torque))?) of the recordings"
)
EXCHANGE = re.compile(r"Exchange the two entries of columns in (.*?) of the recordings")
JOINTS = ["waist", "shoulder", "elbow"]


def tables_of(content, place, key):
    """The tables of a project file that a remedy means."""
    if place is None or place[1] == "recordings":
        return content["recordings"]
    if place[1]:
        return [content.setdefault(place[1], {})]
    return [
        recording[quantity]
        for recording in content["recordings"]
        for quantity in re.findall("position|torque|velocity", place[2])
    ]


def written(content, finding):
    """The content of a project file with what the remedy says."""
    content, remedy, lines = deepcopy(content), finding.remedy, 0
    if exchange := EXCHANGE.search(remedy):
        for recording in content["recordings"]:
            pair = [JOINTS.index(joint) for joint in finding.where.split(", ")]
            for quantity in exchange[1].split(" and in "):
                columns = recording[quantity]["columns"]
                columns[pair[0]], columns[pair[1]] = columns[pair[1]], columns[pair[0]]
        return content
    for match in ASSIGNMENT.finditer(remedy):
        place = PLACE.search(remedy, match.end())
        for table in tables_of(content, place, match[1]):
            value = tomllib.loads(f"x = {match[2]}")["x"]
            if isinstance(value, dict) and isinstance(table.get(match[1]), dict):
                value = table[match[1]] | value
            assert table.get(match[1]) != value, f"the value is there already: {remedy}"
            table[match[1]] = value
            lines += 1
    assert lines, f"no line in: {remedy}"
    return content


def run(content, folder):
    return identify(Project(folder / "job.toml", Settings.model_validate(content)))


@pytest.fixture(scope="module")
def right():
    """The content of a project without a defect, its parameters and standard deviations."""
    content = {
        "robot": {"path": str(ARM / "arm.urdf")},
        "drive": {"rotor_inertia": True},
        "recordings": [
            {
                "path": str(ARM / "identification.csv"),
                "rate_hz": 250.0,
                "window_s": [0.35, 9.64],
                "position": {"columns": ["q1", "q2", "q3"], "unit": "deg"},
                "torque": {"columns": ["tau1", "tau2", "tau3"], "unit": "N m"},
            }
        ],
        "preprocessing": {"method": "butterworth-decimation", "cutoff_hz": 7.0, "decimate_hz": 9.0},
        "method": {"name": "least-squares", "weighting": "per-joint"},
    }
    estimate = run(content, ARM)
    return content, dict(zip(estimate.names, zip(estimate.values, estimate.std, strict=True), strict=True))


def first(content):
    return content["recordings"][0]


def changed_log(content, folder, change):
    """Another log in place of the first, of columns that `change` has changed."""
    table = pl.read_csv(ARM / "identification.csv")
    pl.DataFrame(change({name: table[name].to_numpy() for name in table.columns})).write_csv(
        folder / "log.csv"
    )
    first(content)["path"] = str(folder / "log.csv")


DEFECTS = {
    "degrees read as radians": ("angle-unit", lambda c, f: first(c)["position"].update(unit="rad")),
    "all torques negative": ("sign", lambda c, f: first(c)["torque"].update(scale=-1.0)),
    "one torque negative": ("sign", lambda c, f: first(c)["torque"].update(scale=[1.0, 1.0, -1.0])),
    "one position negative": ("sign", lambda c, f: first(c)["position"].update(scale=[1.0, 1.0, -1.0])),
    "torques exchanged": (
        "swapped-channels", lambda c, f: first(c)["torque"].update(columns=["tau1", "tau3", "tau2"]),
    ),
    "joints exchanged": (
        "swapped-channels",
        lambda c, f: (
            first(c)["torque"].update(columns=["tau1", "tau3", "tau2"]),
            first(c)["position"].update(columns=["q1", "q3", "q2"]),
        ),
    ),
    "zero of the shoulder": (
        "joint-zero", lambda c, f: c["drive"].update(position_offset={"values": [0, 90, 0], "unit": "deg"}),
    ),
    "late torques": ("delay", lambda c, f: c["preprocessing"].update(delays={"torque": 0.02})),
    "gravity along another axis": ("gravity", lambda c, f: c["robot"].update(gravity=[0, 9.81, 0])),
    "wrong rate": ("clock-scale", lambda c, f: first(c).update(rate_hz=100.0, window_s=[0.9, 24.0])),
    "wrapped angles": (
        "wrapped-angles",
        lambda c, f: changed_log(c, f, lambda x: x | {"q3": (x["q3"] - np.median(x["q3"])) % 360 + np.median(x["q3"])}),
    ),
    "gear applied twice": (
        "reduction", lambda c, f: c["drive"].update(side="motor", reduction=[50.0, 50.0, 50.0]),
    ),
    "a sensor that falls out": (
        "dropped-torque",
        lambda c, f: changed_log(c, f, lambda x: x | {"tau2": np.where(np.arange(2500) > 1900, 0.0, x["tau2"])}),
    ),
    "friction without offset": (
        "missing-term",
        lambda c, f: (
            changed_log(c, f, lambda x: x | {"tau3": x["tau3"] + 2}), c.update(friction={"offset": False}),
        ),
    ),
}  # fmt: skip


ELSEWHERE = {
    "position-outliers": "test_remedies.py::test_the_lines_for_errors_of_a_bus",
    "stale-samples": "test_new.py::test_readings_that_are_logged_several_times",
    "contact-schedule": "estimators/shooting/test_contact_events.py::test_events_20_ms_off_are_found_and_corrected",
    "exact-gains": "estimators/linear/payload/test_trust.py::test_gains_that_count_as_exact_are_a_warning",
    "assumed-noise": "test_optimal_estimation_rotors.py::test_process_noise_is_estimated_wherever_its_search_begins",
    "stated-noise": "test_optimal_estimation_rotors.py::test_process_noise_is_estimated_wherever_its_search_begins",
}
"""Causes with a line that another test writes -> this test."""
NOT_TRIED = {
    "torque-offset": "between recordings: tests/diagnosis/test_recordings.py",
    "friction-drift": "a law of warming friction needs a temperature, which the recording lacks",
    "lost-samples": "time stamps were not recorded",
    "described-masses": "the key selects how the prior is weighed, which tests of the semidefinite method compare",
    "undetermined-mass": "the same",
}
"""Causes with a line that no test can write here -> why."""


OTHERS = {
    ("friction without offset", "off3"),
    *(("gravity along another axis", name) for name in ("zz1r", "mx2r")),
}
"""Parameters with another value, or another grouping."""


@pytest.mark.parametrize("case", DEFECTS)
def test_the_lines_of_a_remedy_remove_its_finding(case, right, tmp_path):
    cause, break_it = DEFECTS[case]
    content, expected = deepcopy(right[0]), right[1]
    break_it(content, tmp_path)
    estimate = run(content, tmp_path)
    causes = [finding.cause for finding in estimate.findings]
    assert cause in causes, estimate.findings
    finding = estimate.findings[causes.index(cause)]
    again = run(written(content, finding), tmp_path)
    assert cause not in [each.cause for each in again.findings], (finding, again.findings)
    for name, value, std in zip(again.names, again.values, again.std, strict=True):
        # with another direction of gravity there are other base parameters
        if name in expected and (case, name) not in OTHERS:
            # the rows differ a little: windows, delays and offsets are rounded as messages print them
            assert abs(value - expected[name][0]) < 4 * np.hypot(std, expected[name][1]), name


def test_the_lines_for_errors_of_a_bus(right, tmp_path):
    """The number that stands for errors is the reader's to see."""
    content = deepcopy(right[0])
    is_error = np.arange(2500) % 400 == 399
    changed_log(content, tmp_path, lambda x: x | {"q2": np.where(is_error, 180.0, x["q2"])})
    (finding,) = (each for each in run(content, tmp_path).findings if each.cause == "position-outliers")
    keys = ("missing = [it]", 'invalid = "mask" in [[recordings]]', "resample_hz in [preprocessing]")
    assert all(key in finding.remedy for key in keys), finding.remedy
    first(content)["position"]["missing"] = [180.0]
    first(content)["invalid"] = "mask"
    content["preprocessing"]["resample_hz"] = 250.0
    again = run(content, tmp_path)
    assert "position-outliers" not in [each.cause for each in again.findings]
    value, std = right[1]["mx2r"]
    assert abs(again["mx2r"] - value) < 4 * std


def test_the_lines_of_an_inspection_remove_its_findings(right, tmp_path):
    """Columns that `poinsot new` has named: a joint that stands still is held, and a dead torque was not measured."""
    for column, cause, place in (("q1", "no-motion", "locked"), ("tau3", "dropped-torque", "not_measured")):
        content = deepcopy(right[0])
        changed_log(content, tmp_path, lambda x, column=column: x | {column: 0 * x[column]})
        for quantity in ("position", "torque"):
            first(content)[quantity]["joints"] = [*JOINTS]

        def inspected(content):
            project = Project(tmp_path / "job.toml", Settings.model_validate(content))
            return [finding for _, seen in project.inspect() for finding in seen.findings]

        (finding,) = (each for each in inspected(content) if each.cause == cause)
        (line,) = re.findall(rf"{place} = ({VALUE})", finding.remedy)
        value = tomllib.loads(f"x = {line}")["x"]
        if place == "locked":
            content["robot"]["locked"] = value
        else:
            first(content)["torque"] |= {"columns": ["tau1", "tau2"], "joints": JOINTS[:2], place: value}
        assert cause not in [each.cause for each in inspected(content)]
        run(content, tmp_path)


# ----------------------------------------------------------------------------------------------------- keys in messages

SOURCE = Path(poinsot.__file__).parent
KEY = re.compile(r"(?<![\w.`(=/{-])([a-z]\w*) = (?!\d+,\n)")
IN_TABLE = re.compile(r"\b([a-z]\w*) = [^\n;]{1,50}? in \[+([a-z]\w*)\]+")
OF_PARAMETERS = {"stiffness", "derivative_gain", "coulomb", "armature", "ramp", "nominal_voltage"}
"""Names of parameters, which are keys of [held] and [priors]."""
OF_VALUES = {"values", "unit"}
"""Keys of a value with a unit."""
FREE = {"held", "priors"}
"""Tables whose keys are names of parameters."""


def keys_of(table):
    """Keys of a table of settings and of those in it."""
    keys, seen = set(), set()

    def add(kind):
        if kind in seen:
            return
        seen.add(kind)
        for name, field in getattr(kind, "model_fields", {}).items():
            keys.update({name, field.alias or name})
            add_all(field.annotation)

    def add_all(annotation):
        add(annotation) if hasattr(annotation, "model_fields") else [*map(add_all, get_args(annotation))]

    add_all(table)
    return keys


METHOD_KEYS = set().union(*(keys_of(find_method(name)) for name in method_names()))


def messages():
    """File and text of each string of the source but docstrings, also of f-strings, with 0 in place of their values."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bodies = [
            node.body
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        ]
        expressions = {id(line.value) for body in bodies for line in body if isinstance(line, ast.Expr)}
        parts = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
        }
        for node in ast.walk(tree):
            if id(node) in expressions | parts:
                continue
            if isinstance(node, ast.JoinedStr):
                yield (
                    path,
                    "".join(
                        getattr(part, "value", "") if isinstance(part, ast.Constant) else "0"
                        for part in node.values
                    ),
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


def is_prose(text):
    """Whether it is a sentence with a line of a project file, and not code or a formula."""
    return (
        re.search(r"\b([Ww]rite|[Ss]et|give|[Gg]ive|[Cc]orrect|[Hh]old|or) (\S+ ){0,4}?\w+ = ", text)
        is not None
    )


def test_keys_that_messages_propose_exist():
    """In a project file, and in the table that the message names."""
    known = keys_of(Settings) | METHOD_KEYS | OF_PARAMETERS | OF_VALUES
    tables = {name: keys_of(field.annotation) for name, field in Settings.model_fields.items()}
    tables |= {"method": METHOD_KEYS}
    count = 0
    for path, text in messages():
        if not is_prose(text):
            continue
        for key in KEY.findall(text):
            count += 1
            assert key in known, (path.relative_to(SOURCE), text)
        for key, table in IN_TABLE.findall(text):
            if table not in FREE:
                assert table in tables and key in tables[table] | OF_VALUES, (
                    path.relative_to(SOURCE),
                    table,
                    text,
                )
    assert count > 40  # the search still finds them


def test_each_cause_with_a_line_is_tried_or_listed():
    tried = {cause for cause, _ in DEFECTS.values()} | {"no-motion"}
    proposing = {cause.name for cause in causes() if KEY.search(cause.advice)}
    assert proposing <= tried | ELSEWHERE.keys() | NOT_TRIED.keys(), (
        proposing - tried - ELSEWHERE.keys() - NOT_TRIED.keys()
    )
    for place in ELSEWHERE.values():
        name, _, test = place.partition("::")
        assert f"def {test}(" in (Path(__file__).parent / name).read_text(encoding="utf-8"), place
