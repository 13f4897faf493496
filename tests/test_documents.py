"""Documents run: every Python block of the README and of docs/, every example, and every name they mention.

The blocks of one document are run in order and share their variables. Paths are as seen from the project's root.
A block that needs a real recording says so in the line before it, an example in a comment:

    <!-- needs: ../shared/data/emps -->            # needs: ../shared/data/emps

What is printed does not drift either: a text block right below a Python block is what that prints, and a console block
has commands, `$ poinsot ...`, each with lines that it prints, in order. `...` stands for lines that are left out.
"""

import contextlib
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
import typing
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot import cli
from poinsot.accuracy import Accuracy
from poinsot.estimators.linear import constraints
from poinsot.models.planar.body import Wall
from poinsot.models.robot.drive import Coupling
from poinsot.models.robot.loops import Loop
from poinsot.models.spatial import Plane
from poinsot.parameters import Normal
from poinsot.project import settings
from poinsot.project.methods import (
    METHODS,
    ProjectMethod,
    find_method,
    impacts,
    method_names,
    payload,
)
from poinsot.project.settings import (
    bodies_and_walls,
    fields,
    mechanism,
    preprocessing,
    recordings,
    robot,
)
from poinsot.project.settings.tables import table_of
from poinsot.signals.random_walk_smoother import LogNormalPrior

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

NEEDED = r"^(?:<!-- needs: (?P<needs>\S+) -->\n+)?^"
BLOCK = re.compile(
    NEEDED + r"```python[^\n]*\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<prints>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
CONSOLE = re.compile(NEEDED + r"```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^# needs: (\S+)", re.MULTILINE)
MENTION = re.compile(
    r"\bpoinsot\.([A-Za-z_]\w*)\b(?!/|\"\])"
)  # no schema, poinsot.identify/1, no entry points

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty folder in which relative paths lead where they lead from the project's root."""
    (tmp_path / "project").mkdir()
    (tmp_path / "shared").symlink_to(ROOT.parent / "shared")
    for name in ("examples", "docs"):
        (tmp_path / "project" / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path / "project")


def skip_if_missing(needed):
    if needed and not Path(needed).exists():
        pytest.skip(f"needs {needed}")


@each_document
def test_python_blocks_run(document, project, subtests):
    text = document.read_text()
    variables = {"__name__": "__main__"}
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        with subtests.test(line=line + 1):
            skip_if_missing(match["needs"])
            # The empty lines make a traceback point into the document.
            code = compile("\n" * line + match["code"], document, "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, variables)
            assert_prints(printed.getvalue(), match["prints"] or "...")


def assert_prints(printed, shown):
    """Whether the lines that a document shows are printed in this order, with others in place of `...` alone."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r" *\n"
        for line in shown.splitlines()
    )
    if not re.fullmatch(pattern, printed.rstrip("\n") + "\n" if printed else ""):
        missing = [
            line for line in shown.splitlines() if line.strip() != "..." and line.rstrip() not in printed
        ]
        raise AssertionError(f"the document shows {missing or shown!r}, but this is printed:\n{printed}")


@each_document
def test_commands_print_what_documents_show(document, project, subtests, capsys):
    for match in CONSOLE.finditer(document.read_text()):
        for part in re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            with subtests.test(command=command):
                skip_if_missing(match["needs"])
                program, *arguments = shlex.split(command)
                assert program == "poinsot"
                assert cli.main(arguments) == 0, capsys.readouterr().err
                assert_prints(capsys.readouterr().out, shown)


@each_document
def test_mentioned_names_exist(document):
    missing = {
        name
        for name in MENTION.findall(document.read_text())
        if not hasattr(poinsot, name) and importlib.util.find_spec(f"poinsot.{name}") is None
    }
    assert not missing


@each_example
def test_example_runs(example, project):
    needed = NEEDS.search(example.read_text())
    skip_if_missing(needed and needed[1])
    run = subprocess.run(
        [sys.executable, f"examples/{example.name}"],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", poinsot.__all__)
def test_public_name_imports(name):
    assert getattr(poinsot, name) is not None


def test_the_quadruped_finds_its_trunk():
    folder = ROOT / "examples" / "quadruped"
    spec = importlib.util.spec_from_file_location("quadruped_record", folder / "record.py")
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    estimate = poinsot.identify(poinsot.Project.load(folder / "job.toml"))
    assert estimate.status.converged and estimate.identifiable.all()
    off = estimate.values - record.trunk()
    # Squared errors of ten parameters: 29.6 is exceeded once in a thousand. The description is far outside.
    assert off @ np.linalg.solve(estimate.covariance, off) < 29.6
    assert abs(off[0]) < 1.96 * estimate.std[0] < 0.02
    described = record.robot().inertials[record.robot().bodies.index("trunk")] - record.trunk()
    assert abs(described[0]) > 2.0
    # The other recording is foretold by a model that was not fitted to it as well as the first one is fitted.
    assert estimate.validation[0].relative_error_percent < 1.5 * estimate.fit.relative_error_percent


# ------------------------------------------------------------------------------ pages that one reads, and their words

REFERENCES = ("project_file.md", "command_line.md", "api.md", "api/", "measurements/")
"""Looked up, not read: their words do not count."""


def words_of(pages):
    return sum(len((ROOT / "docs" / page).read_text().split()) for page in pages)


def test_the_path_for_newcomers_is_short():
    navigation = (ROOT / "mkdocs.yml").read_text()
    start = re.search(r"^  - Start:\n((?: {6}.*\n)+)", navigation, re.MULTILINE)[1]
    first, *path = re.findall(r"[\w/]+\.md", start)
    assert first == "index.md"
    assert len(path) == 5
    assert words_of(path) <= 3000


def test_what_one_reads_is_short():
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in DOCUMENTS[1:]]
    assert words_of(page for page in pages if not page.startswith(REFERENCES)) <= 25_000


def test_the_readme_shows_a_result_first():
    head = (ROOT / "README.md").read_text().splitlines()[:40]
    (picture,) = (k for k, line in enumerate(head) if re.search(r"(?<!\[)!\[[^\]]*\]\(", line))
    commands = re.findall(r"^```\n(.*?)^```", "\n".join([*head[:picture], "```"]), re.MULTILINE | re.DOTALL)
    assert sum(len(block.split("\n")) - 1 for block in commands) <= 3


# --------------------------------------------------------------------- the reference pages against what they describe

REFERENCE = ROOT / "docs" / "project_file.md"
SECTIONS = {
    "`[robot]`": (robot.RobotSettings, ()),
    "`[mechanism]`": (mechanism.MechanismSettings, ()),
    "One of `mechanism.bodies`": (mechanism.MechanismBodySettings, ()),
    "One of `mechanism.joints`": (mechanism.MechanismJointSettings, ()),
    "One of `mechanism.frames`": (mechanism.MechanismFrameSettings, ()),
    "Dry `friction` of a mechanism's joint": (mechanism.DryFrictionSettings, ()),
    "`motor` of a mechanism's joint": (mechanism.MotorSettings, ()),
    "`stops` of a mechanism's joint": (mechanism.StopsSettings, ()),
    "`details` of a joint": (mechanism.JointDetails, ()),
    "`[body]`": (bodies_and_walls.PlanarBodySettings, ()),
    **{
        f'`shape = "{shape}"`': (section, bodies_and_walls.PlanarBodySettings.model_fields)
        for shape, section in {
            "ellipse": bodies_and_walls.EllipseSettings,
            "circle": bodies_and_walls.CircleSettings,
            "rectangle": bodies_and_walls.RectangleSettings,
            "polygon": bodies_and_walls.PolygonSettings,
            "smooth-curve": bodies_and_walls.SmoothCurveSettings,
            "box": bodies_and_walls.BoxSettings,
            "points": bodies_and_walls.PointsSettings,
            "mesh": bodies_and_walls.MeshSettings,
        }.items()
    },
    "`[[walls]]`": (table_of(Wall), ()),
    "`[[walls]]` in space": (table_of(Plane), ()),
    "`[[robot.efforts]]`": (robot.EffortSettings, ()),
    "`[[robot.loops]]`": (table_of(Loop), ()),
    "`[drive]`": (robot.DriveSettings, ()),
    "One of `couplings`": (table_of(Coupling), ()),
    "`position_offset` with a unit": (robot.OffsetSettings, ()),
    "`[friction]`": (robot.FrictionSettings, ()),
    "`[[recordings]]`": (
        recordings.RecordingSettings,
        recordings.FileSettings.model_fields,
    ),
    "A file: in `[[recordings]]`, or one of `[[recordings.files]]`": (recordings.FileSettings, ()),
    "`time`": (recordings.ClockSettings, ()),
    "`position`, `velocity`, `acceleration`, `torque`, `current`, `voltage`, `position_command`": (
        recordings.QuantitySettings,
        (),
    ),
    "`gyro`, `accelerometer`, `frame_position`, `frame_velocity`, `force`": (recordings.FrameSettings, ()),
    "`orientation`": (recordings.OrientationSettings, ()),
    "`contact`": (recordings.ContactSettings, ()),
    "`thrust`": (recordings.ThrustSettings, ()),
    "One of `channels`": (recordings.ColumnSettings, ()),
    "`[contacts]`": (robot.ContactsSettings, ()),
    "`[[rotors]]`": (robot.RotorSettings, ()),
    "With either smoother": (preprocessing.SmoothingSettings, ()),
    '`method = "butterworth-decimation"`': (
        preprocessing.ButterworthSettings,
        preprocessing.SmoothingSettings.model_fields,
    ),
    '`method = "random-walk"`': (
        preprocessing.RandomWalkSettings,
        preprocessing.SmoothingSettings.model_fields,
    ),
    "`prior` of the ratio": (table_of(LogNormalPrior), ()),
    '`method = "moving-polynomial"`': (preprocessing.MovingPolynomialSettings, ()),
    '`method = "none"`': (preprocessing.RawSettings, preprocessing.ConditioningSettings.model_fields),
    **{f'`name = "{name}"`': (find_method(name), ()) for name in METHODS},
    "`noise` of a tracker": (impacts.TrackerNoiseSettings, ()),
    "`center_of_mass` of a load": (payload.PointPriorSettings, ()),
    "`[method.constraints]`": (table_of(constraints.Constraints), ()),
    "One of `bodies`": (table_of(constraints.BodyConstraint), ()),
    "`inside`": (table_of(constraints.EllipsoidRegion), ()),
    "`[priors]`": (table_of(Normal), ()),
    "`[accuracy]`": (table_of(Accuracy), ()),
    "`[output]`": (settings.OutputSettings, ()),
}
"""Heading of the page -> what its table is about, and the keys that another table has."""
REGIONS = constraints.Box, constraints.EllipsoidRegion, constraints.Hull

BY_VALIDATOR = {
    fields.check_per_joint: "numbers",
    fields.check_columns: "columns",
    fields.check_units: "unit, or a list",
    fields.check_unit: "unit",
    robot.check_law: '`"viscous-coulomb"`, `"viscous"` or `"none"`',
    robot.check_effort: "a law of the next table",
    robot._offset: "numbers, or a table with `values` and `unit`",
    preprocessing._ratio: 'numbers, or `"maximum-likelihood"`',
    preprocessing._cutoff: 'numbers, or `"auto"`',
}
BY_TYPE = {
    str: "text", bool: "true or false", int: "whole number", float: "number", str | int: "text or index",
    str | int | None: "text or index",
    tuple[float, float]: "pair of numbers", tuple[int, int]: "pair of whole numbers",
    list[str]: "list of text", list[float]: "list of numbers", list[str | int]: "list of text or indices",
    dict[str, float]: "table of numbers",
}  # fmt: skip

ITEMS = {float: "list of numbers", str: "list of text"}


def type_in_words(annotation, validators=()):
    for validator in validators:
        if getattr(validator, "func", None) in BY_VALIDATOR:
            return BY_VALIDATOR[validator.func]
    if annotation in BY_TYPE:
        return BY_TYPE[annotation]
    inside = [it for it in typing.get_args(annotation) if it is not type(None)]
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        values = [f"`{json.dumps(value)}`" for value in inside]
        return " or ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)
    if origin is typing.Annotated:
        return type_in_words(inside[0], inside[1:])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_in_words(it) for it in inside)
    if origin is list and typing.get_origin(inside[0]) is typing.Literal:
        return f"list of {type_in_words(inside[0])}"
    if origin in (list, dict) and is_table(inside[-1]):
        return f"{'list' if origin is list else 'table'} of tables"
    if origin is list and typing.get_origin(inside[0]) is typing.Annotated:
        return ITEMS.get(typing.get_args(inside[0])[0], "list of lists")
    if origin is dict and typing.get_origin(inside[1]) is typing.Annotated:
        return (
            "table of lists"
            if typing.get_origin(typing.get_args(inside[1])[0]) is list
            else "table of numbers"
        )
    if origin is dict:
        return "table of lists" if typing.get_origin(inside[1]) is list else "table of numbers"
    assert issubclass(annotation, fields.SettingsTable)
    return "table"


def is_table(annotation):
    if typing.get_origin(annotation) is typing.Annotated:
        return is_table(typing.get_args(annotation)[0])
    return isinstance(annotation, type) and issubclass(annotation, fields.SettingsTable)


def default_in_words(field):
    if field.is_required():
        return "required"
    value = field.get_default()
    if (
        value is None
        or value in ([], {}, ())
        or isinstance(value, fields.SettingsTable)
        or is_dataclass(value)
    ):
        return "–"
    if isinstance(value, tuple | list) and all(isinstance(number, float) for number in value):
        return f"`[{', '.join(f'{number:g}' for number in value)}]`"
    return f"`{f'{value:g}' if isinstance(value, float) else json.dumps(value)}`"


@pytest.mark.parametrize("heading", SECTIONS)
def test_the_reference_has_every_key_with_its_type_and_default(heading):
    section, elsewhere = SECTIONS[heading]
    (text,) = [
        part.partition("\n")[2]
        for part in re.split(r"^##+ ", REFERENCE.read_text(), flags=re.MULTILINE)
        if part.partition("\n")[0] == heading
    ]
    written = [
        tuple(cell.strip() for cell in line.split("|")[1:4])
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    expected = [
        (f"`{key}`", type_in_words(field.annotation, field.metadata), default_in_words(field))
        for key, field in section.model_fields.items()
        if key not in elsewhere
    ]
    # The file's name for a recording is the only default that is a sentence.
    expected = [
        (key, kind, "the file's" if key == "`name`" and default == "–" else default)
        for key, kind, default in expected
    ]
    assert sorted(written) == sorted(expected)


def test_the_reference_has_every_section():
    def sections(annotation):
        for inside in (annotation, *typing.get_args(annotation)):
            if isinstance(inside, type) and issubclass(inside, fields.SettingsTable):
                yield inside
                for field in inside.model_fields.values():
                    yield from sections(field.annotation)
            elif inside is not annotation:
                yield from sections(inside)

    documented = {section for section, _ in SECTIONS.values()} | {
        settings.Settings,
        robot.OffsetSettings,
    }
    found = {
        section for root in (settings.Settings, *map(find_method, METHODS)) for section in sections(root)
    }
    assert found - {ProjectMethod} <= documented | {fields.SettingsTable, *map(table_of, REGIONS)}
    headings = re.findall(r"^## `\[+(\w+)\]+`$", REFERENCE.read_text(), re.MULTILINE)
    assert {*headings} == {*settings.Settings.model_fields}


@each_document
def test_project_files_in_documents_are_valid(document):
    for text in re.findall(r"^```toml\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL):
        content = tomllib.loads(text)
        if {"robot", "recordings", "preprocessing"} <= content.keys():
            settings.Settings.model_validate(content)
        else:  # a fragment: its sections at least
            assert content.keys() <= settings.Settings.model_fields.keys()


PROJECTS = [
    (document, text)
    for document in DOCUMENTS
    for text in re.findall(r"^```toml\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    if "recordings" in tomllib.loads(text)
]
FOLDERS = [
    ROOT / "examples" / "arm",
    ROOT / "examples" / "quadruped",
    ROOT / "examples" / "furuta",
    ROOT / "examples" / "throw",
    ROOT / "examples" / "so101",
    *sorted((ROOT.parent / "shared" / "data").glob("*/")),
]


@pytest.mark.parametrize(
    ("document", "text"), PROJECTS, ids=[f"{d.stem}-{k}" for k, (d, _) in enumerate(PROJECTS)]
)
def test_project_files_in_documents_run(document, text, tmp_path):
    """Those whose recordings are here: of the example, or real ones."""
    content = tomllib.loads(text)
    files = [file["path"] for run in content["recordings"] for file in run.get("files", [run])]
    folder = next((it for it in FOLDERS if all((it / file).exists() for file in files)), None)
    if folder is None:
        pytest.skip(f"no recordings {', '.join(files)} here")
    if (name := content.get("method", {}).get("name", "")) not in ("", *method_names()):
        pytest.skip(f"the distribution with the method {name} is not installed")
    (tmp_path / "document.toml").write_text(text)
    for beside in [*(ROOT / "examples").glob("*.urdf"), *folder.glob("*.toml")]:
        (tmp_path / beside.name).symlink_to(beside)
    project = poinsot.Project.load(tmp_path / "document.toml")
    if content.get("method", {}).get("name") == "filter":
        tracking = poinsot.track(project, folder)
        assert tracking.estimate.status.converged
        assert tracking.tracker.verdicts[poinsot.SampleVerdict.accepted] > 0.9 * tracking.tracker.samples
        return
    estimate = poinsot.identify(project, folder)
    assert estimate.status.converged
    assert estimate.fit.relative_error_percent < 10


def keys_of(value):
    """Every key of nested JSON, but not those that the user's own file gives, nor names of parameters."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield key
            if key != "project" and not (key == "parameters" and isinstance(inside, dict)):
                yield from keys_of(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from keys_of(inside)


@pytest.mark.parametrize(
    ("verb", "job"),
    [
        ("identify", "arm/job.toml"),
        ("identify", "quadruped/job.toml"),
        ("identify", "throw/job.toml"),
        ("inspect", "arm/job.toml"),
        ("track", "arm/track.toml"),
    ],
)
def test_the_command_line_page_has_every_key_of_the_json(verb, job, tmp_path):
    job = ROOT / "examples" / job
    assert cli.main([verb, str(job), "--json", str(tmp_path / "result.json")]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    versions = {*result.pop("versions", {})}
    described = {*re.findall(r"`([a-z_0-9]+)`", (ROOT / "docs" / "command_line.md").read_text())}
    assert {*keys_of(result)} - versions <= described
