"""Machine code on disk: private, of one version, and compiled again when a file is damaged."""

import os
import pickle
import stat
import subprocess
import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from poinsot import kernels, machine_code


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's cache; kernels of poinsot keep the one with which they were imported."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernels.private_folder.cache_clear()
    yield tmp_path
    kernels.private_folder.cache_clear()


def hits(function=total, expected=6.0):
    """Compile as a new process would, and say how much came from disk."""
    kernel = kernels.njit(cache=True)(function)
    assert kernel(np.array([1.0, 2.0, 3.0])) == expected
    return sum(kernel.stats.cache_hits.values())


def kept_folder(home):
    return home / "poinsot" / f"kernels-{version('poinsot')}"


def kept(home):
    (path,) = kept_folder(home).iterdir()
    return path


def test_machine_code_is_kept_for_this_user_alone(home):
    assert [hits(), hits()] == [0, 1]
    assert stat.S_IMODE(kept_folder(home).stat().st_mode) == 0o700


def test_a_changed_source_of_a_called_kernel_is_compiled_again(home, tmp_path, monkeypatch):
    """Also where both are in another folder, as in another environment, nothing else is."""

    def result(folder, factor):
        (tmp_path / folder).mkdir(exist_ok=True)
        for name, text in (("inner", f"    return {factor} * x"), ("outer", "    return inner(x) + 1")):
            uses = "from kernels_of_inner import inner\n" if name == "outer" else ""
            text = f"from poinsot.kernels import njit\n{uses}\n@njit(cache=True)\ndef {name}(x):\n{text}\n"
            path = tmp_path / folder / f"kernels_of_{name}.py"
            path.write_text(text)
            spec = spec_from_file_location(path.stem, path)
            module = module_from_spec(spec)
            monkeypatch.setitem(sys.modules, path.stem, module)
            spec.loader.exec_module(module)
        kernels._parts.cache_clear()
        kernels._digest.cache_clear()
        return module.outer(2.0), sum(module.outer.stats.cache_hits.values())

    assert [result("a", 3), result("a", 3), result("b", 3)] == [(7.0, 0), (7.0, 1), (7.0, 1)]
    assert [result("b", 25), result("b", 25)] == [(51.0, 0), (51.0, 1)]


def test_a_kernel_that_a_function_made_is_kept_with_what_it_has_from_it(home):
    def made(function, factor):
        inner = kernels.njit(cache=True)(function)

        @kernels.njit(cache=True)
        def outer(x):
            return factor * inner(x)

        return outer(np.array([1.0, 2.0, 3.0])), sum(outer.stats.cache_hits.values())

    def largest(x):
        return x.max()

    assert [made(f, 1.0) for f in (total, largest, total, largest)] == [
        (6.0, 0),
        (3.0, 0),
        (6.0, 1),
        (3.0, 1),
    ]
    assert [made(total, factor) for factor in (2.0, 2.0, 3.0)] == [(12.0, 0), (12.0, 1), (18.0, 0)]


def test_each_signature_is_a_file(home):
    kernel = kernels.njit(cache=True)(total)
    assert kernel(np.arange(4.0)) == kernel(np.arange(4)) == 6
    assert len(list(kept_folder(home).iterdir())) == 2


def damages(content):
    size = len(content)
    for end in (0, 1, 31, 32, 33, size // 2, size - 1):
        yield content[:end]
        yield content[:end] + bytes(size - end)
    for place in (0, 40, size // 3, size - 1):
        yield content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]


def test_a_damaged_file_is_compiled_again_and_nothing_is_said(home, capfd, recwarn):
    hits()
    content = kept(home).read_bytes()
    for damaged in damages(content):
        kept(home).write_bytes(damaged)
        assert [hits(), hits()] == [damaged == content, 1]
    # whole, but no machine code: of another program, or of another layout
    for other in (b"", b"text", pickle.dumps(1), pickle.dumps((1, 2)), b"cno_such_module\nname\n."):
        kernels.write_checked(kept(home), other)
        assert [hits(), hits()] == [0, 1]
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_another_version_has_another_folder(home, monkeypatch):
    hits()
    monkeypatch.setattr(kernels, "version", lambda _: "99.1")
    kernels.private_folder.cache_clear()
    assert [hits(), hits()] == [0, 1]
    assert (home / "poinsot" / "kernels-99.1").is_dir()


def test_changed_sources_are_compiled_again_into_the_same_file(tmp_path, home):
    for factor in (2, 3):
        (tmp_path / "source.py").write_text(f"def scaled(x):\n    return {factor} * x[0]\n")
        spec = spec_from_file_location("source", tmp_path / "source.py")
        module = module_from_spec(spec)
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        spec.loader.exec_module(module)
        sys.dont_write_bytecode = before
        kernels._digest.cache_clear()
        assert hits(module.scaled, factor) == 0
        assert hits(module.scaled, factor) == 1
    kept(home)


@pytest.mark.parametrize("mode", [0o702, 0o720, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(home, mode):
    hits()
    kept_folder(home).chmod(mode)
    kernels.private_folder.cache_clear()
    assert kernels.private_folder() is None
    assert [hits(), hits()] == [0, 0]


def test_a_folder_that_others_can_read_becomes_private(home):
    hits()
    kept_folder(home).chmod(0o755)
    kernels.private_folder.cache_clear()
    assert hits() == 1
    assert stat.S_IMODE(kept_folder(home).stat().st_mode) == 0o700


def test_a_folder_of_somebody_else_is_not_used(home, monkeypatch):
    hits()
    monkeypatch.setattr(os, "getuid", lambda: 123_456)
    kernels.private_folder.cache_clear()
    assert [hits(), hits()] == [0, 0]


def test_without_a_folder_kernels_are_compiled_each_time(home, monkeypatch):
    (home / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file"))
    kernels.private_folder.cache_clear()
    assert [hits(), hits()] == [0, 0]


def test_a_folder_that_cannot_be_written_to_is_still_read(home, monkeypatch):
    hits()

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(kernels.Path, "write_bytes", refuse)
    assert hits() == 1
    kept(home).unlink()
    assert [hits(), hits()] == [0, 0]
    assert not list(kept_folder(home).iterdir())


JAX = """
import warnings
warnings.simplefilter("error")
import jax, numpy as np
from poinsot.kernels import private_folder
from poinsot.models.maximal import keep_compiled, precision
precision.MIN_COMPILE_TIME = 0.0
keep_compiled()
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if "hits" in name else None)
def run():
    jax.clear_caches()
    hits.clear()
    assert float(jax.jit(lambda x: 2 * x + 1)(3.0)) == 7
    return len(hits)
x = np.float32(3)
first = run()
again = run()
assert again > first, (first, again)
for path in private_folder().glob("*.xla"):
    content = path.read_bytes()
    for damaged in (b"", content[:40], content[:-1], bytes(len(content)), content[:60] + b"0" + content[61:]):
        path.write_bytes(damaged)
        assert run() < again or damaged == content
        assert run() == again
print(len(list(private_folder().glob("*.xla"))), oct(private_folder().stat().st_mode)[-4:])
"""


def test_what_jax_compiles_is_kept_in_the_same_way():
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    files, mode = done.stdout.split()
    assert int(files) >= 1
    assert mode == "0700"


WITHOUT_NUMBA = """
import sys
import numpy as np
from poinsot.kernels import njit

@njit(cache=True)
def scale(pair, factor, count, out):
    a, b = pair
    if count > len(out):
        raise ValueError("too many")
    for i in range(count):
        out[i] = factor * a[i] + np.sin(b[i, 0])

@njit(cache=True)
def scaled(a, out):
    scale((a, a.reshape(-1, 1)), 2.0, len(a), out)
    return out.copy()

a = np.arange(10.0)
for x, factor in ((a[:5], 2.0), (a[::2], 2.0), (a[:5].astype(np.float32), 2.0), (a[:5], np.float64(2.0))):
    if type(factor) is not float and len(sys.argv) > 1:
        break
    out = np.zeros(5)
    scale((x, x.astype(float).reshape(-1, 1)), factor, 5, out)
    x = x.astype(float)
    np.testing.assert_allclose(out, 2 * x + np.sin(x), rtol=1e-15)
    print("numba" in sys.modules, end=" ")
"""


def in_a_process(folder, then="", *arguments):
    (folder / "script.py").write_text(WITHOUT_NUMBA + then)
    command = [sys.executable, folder / "script.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


def test_kernels_that_fill_arrays_are_called_without_numba(home, tmp_path):
    """Of any layout and type; for numbers that are not Python's, Numba is imported."""
    assert in_a_process(tmp_path) == ["True"] * 4
    assert in_a_process(tmp_path) == ["False"] * 3 + ["True"]


def test_what_numba_raises_is_raised_and_numba_takes_over(home, tmp_path):
    """Also where another kernel calls one that was called without it."""
    then = """
def said(kernel, *args):
    try:
        kernel(*args)
    except ValueError as error:
        print(error, end=" ")
said(scale, (a, a.reshape(-1, 1)), 2.0, 20, np.zeros(5))
print("numba" in sys.modules, end=" ")
said(scaled, a, np.zeros(5))
print(np.array_equal(scaled(a[:5], np.zeros(5)), 2 * a[:5] + np.sin(a[:5])))
"""
    in_a_process(tmp_path, then)
    found = in_a_process(tmp_path, then, "three")
    assert found == [*["False"] * 3, "too", "many", "True", "too", "many", "True"]


def test_a_damaged_file_is_not_called(home, tmp_path):
    in_a_process(tmp_path)
    for path in kept_folder(home).glob("scale-*"):
        content = path.read_bytes()
        for damaged in (b"", content[:-1], content[:100] + b"?" + content[101:]):
            path.write_bytes(damaged)
            assert in_a_process(tmp_path)[-1] == "True"
            assert in_a_process(tmp_path)[0] == "False"


@pytest.mark.parametrize(
    "args",
    [
        (np.zeros(3), 1.0, 2),
        (np.zeros((3, 2)).T, np.zeros((3, 2, 4))[:, :, ::2], np.zeros(3, np.int64)),
        ((np.zeros(3), np.zeros(4)), (1, 2.0), ((1,), (np.zeros((2, 2)), 3))),
        (np.float64(1.0), np.int64(2)),
        (np.broadcast_to(0.0, 3),),
    ],
)
def test_types_are_named_as_numba_names_them(args):
    import numba

    assert machine_code.type_names(args) == repr(tuple(map(numba.typeof, args)))
