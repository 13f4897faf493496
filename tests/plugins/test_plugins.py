"""Methods and sections of other distributions: the modules of the guides, installed as a distribution."""

import importlib
import json
import re
from pathlib import Path

import pytest

import poinsot
from poinsot import cli
from poinsot.exceptions import InvalidMethod, InvalidProject, PoinsotError
from poinsot.project.methods import METHODS, row_of
from poinsot.report.sections import OF_EVERY_ESTIMATE, SECTIONS, sections
from synthetic_job import JOB, write_job

GUIDES = Path(__file__).parents[2] / "docs" / "extend"


def from_guide(guide, module):
    """The code of a module in a guide, and the entry points that the guide lists."""
    text = (GUIDES / guide).read_text()
    code = re.search(rf"```python\n(# {module}.py\n.*?)```", text, re.DOTALL)[1]
    points = re.findall(r'```ini\n\[project.entry-points."(.*?)"\]\n(.*?)```', text, re.DOTALL)
    return code, {group: lines.replace('"', "") for group, lines in points}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution of one module, with entry points by group."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def install(module, code, points=()):
        information = tmp_path / "site" / f"{module}-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        groups = "".join(f"[{group}]\n{lines}\n" for group, lines in dict(points).items())
        (information / "entry_points.txt").write_text(groups)
        (information.parent / f"{module}.py").write_text(code)
        monkeypatch.delitem(importlib.sys.modules, module, raising=False)
        importlib.invalidate_caches()

    return install


@pytest.fixture
def ridge(install, tmp_path):
    """Installs the method of the guide with its section; writes a job for it."""
    install("poinsot_ridge", *from_guide("estimator.md", "poinsot_ridge"))
    install("poinsot_ridge_page", from_guide("section.md", "poinsot_ridge_page")[0])

    def ridge(*keys):
        method = "\n".join(['name = "ridge"', *keys])
        return write_job(tmp_path, JOB.replace('name = "least-squares"', method))

    return ridge


def test_the_method_of_the_guide_identifies(ridge, tmp_path):
    out = tmp_path / "out"
    assert cli.main(["identify", str(ridge("prior_std = 1e-4")), "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    assert result["method"] == "ridge"
    assert result["settings"]["project"]["method"] == {"name": "ridge", "prior_std": 1e-4}
    page = (out / "report.html").read_text()
    assert "Shrinkage" in page and "is known least of all" in page and "Measured and predicted effort" in page
    # The data know m1 = 4 to 1.6e-4 kg, so with the prior N(0, (1e-4)^2) it is 4 / (1 + 1.6^2) = 1.1 kg.
    free = poinsot.identify(poinsot.Project.load(ridge("prior_std = 1e6")))
    values = {row["name"]: row["value"] for row in result["parameters"]}
    assert abs(values["m1"]) < 0.9 * abs(free["m1"])


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("prior_std = -1.0", r"line 26: method.prior_std: must be greater than 0"),
        ("prior_sdt = 1.0", r"line 26: method: unknown key 'prior_sdt'; did you mean 'prior_std'\?"),
    ],
)
def test_its_settings_are_checked(ridge, key, sentence):
    with pytest.raises(InvalidProject, match=sentence):
        poinsot.Project.load(ridge(key))


def test_its_name_is_among_those_that_exist(ridge):
    path = ridge()
    path.write_text(path.read_text().replace('"ridge"', '"rigde"'))
    with pytest.raises(InvalidProject, match=r"'impacts'.* 'ridge'.*, not 'rigde'; did you mean 'ridge'\?"):
        poinsot.Project.load(path)


def test_poinsots_own_methods_are_not_replaced(install):
    install("poinsot_thief", "", {"poinsot.methods": "filter = poinsot_thief:Filter"})
    assert row_of("filter").project == ".project.methods.filter:FilterMethod"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_library\n", "poinsot_broken:Broken cannot be loaded: .*no_such_library"),
        ("", "poinsot_broken:Broken cannot be loaded"),
        ("Broken = 3\n", "must be a poinsot.project.methods.MethodRow"),
    ],
)
def test_a_method_that_cannot_be_loaded_is_named(install, tmp_path, code, sentence):
    install("poinsot_broken", code, {"poinsot.methods": "broken = poinsot_broken:Broken"})
    path = write_job(tmp_path, JOB.replace("least-squares", "broken"))
    with pytest.raises(PoinsotError, match=sentence):
        poinsot.Project.load(path)


def test_a_listed_section_is_on_every_page(install, tmp_path):
    install("poinsot_ridge_page", *from_guide("section.md", "poinsot_ridge_page"))
    estimate = poinsot.identify(poinsot.Project.load(write_job(tmp_path)))
    titles = [section.title for section in sections(estimate)]
    assert titles[-2:] == ["Shrinkage", "How it was found"]
    assert "Shrinkage" in [section.title for section in sections(estimate, ["shrinkage"])]
    assert "Shrinkage" not in [section.title for section in sections(estimate, ["effort"])]
    with pytest.raises(InvalidMethod, match="no section 'shrinkag'; did you mean 'shrinkage'"):
        sections(estimate, ["shrinkag"])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_names_sections_that_exist(name):
    named = row_of(name).sections
    assert {section for section in named if ":" not in section} <= SECTIONS.keys() - OF_EVERY_ESTIMATE
