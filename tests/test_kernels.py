"""Machine code on disk: private, of one version, and compiled again if a file is damaged."""

import os
import pickle
import stat
import subprocess
import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from poinsot import kernels


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


def cache_folder(home):
    return home / "poinsot" / f"kernels-{version('poinsot')}"


def cached_files(home):
    """The index and the only data file."""
    index, data = sorted(cache_folder(home).iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (index.suffix, data.suffix) == (".nbi", ".nbc")
    return index, data


def test_machine_code_is_cached_for_this_user_only(home):
    assert [hits(), hits()] == [0, 1]
    assert stat.S_IMODE(cache_folder(home).stat().st_mode) == 0o700


def test_a_changed_source_of_a_called_kernel_is_compiled_again(home, tmp_path, monkeypatch):
    def result(factor):
        for name, text in (("inner", f"    return {factor} * x"), ("outer", "    return inner(x) + 1")):
            uses = "from kernels_of_inner import inner\n" if name == "outer" else ""
            text = f"from poinsot.kernels import njit\n{uses}\n@njit(cache=True)\ndef {name}(x):\n{text}\n"
            path = tmp_path / f"kernels_of_{name}.py"
            path.write_text(text)
            spec = spec_from_file_location(path.stem, path)
            module = module_from_spec(spec)
            monkeypatch.setitem(sys.modules, path.stem, module)
            monkeypatch.setattr(sys, "dont_write_bytecode", True)
            spec.loader.exec_module(module)
        kernels._source_digest.cache_clear()
        return module.outer(2.0), sum(module.outer.stats.cache_hits.values())

    assert [result(3), result(3)] == [(7.0, 0), (7.0, 1)]
    assert [result(25), result(25)] == [(51.0, 0), (51.0, 1)]


def test_kernels_that_a_function_defines_are_distinguished_by_what_they_enclose(home):
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
    assert len(list(cache_folder(home).glob("*.nbc"))) == 2


def damages(content):
    size = len(content)
    for end in (0, 1, 31, 32, 33, size // 2, size - 1):
        yield content[:end]
        yield content[:end] + bytes(size - end)
    for place in (0, 40, size // 3, size - 1):
        yield content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]
    # whole, but no machine code: of another program, or of another layout
    yield from (b"text", pickle.dumps(1), pickle.dumps((1, 2)), b"cno_such_module\nname\n.")


@pytest.mark.parametrize("kind", [0, 1], ids=["index", "data"])
def test_a_damaged_file_is_compiled_again_and_nothing_is_printed(home, capfd, recwarn, kind):
    hits()
    path = cached_files(home)[kind]
    content = path.read_bytes()
    for damaged in damages(content):
        if damaged != content:
            path.write_bytes(damaged)
            assert [hits(), hits()] == [0, 1]
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_a_missing_file_is_compiled_again(home):
    hits()
    for path in cached_files(home):
        path.unlink()
        assert [hits(), hits()] == [0, 1]


def test_whether_kernels_are_compiled(home):
    assert not kernels.has_compiled_kernels()
    hits()
    assert kernels.has_compiled_kernels()


def test_another_version_has_another_folder(home, monkeypatch):
    hits()
    monkeypatch.setattr(kernels, "version", lambda _: "99.1")
    kernels.private_folder.cache_clear()
    assert [hits(), hits()] == [0, 1]
    assert (home / "poinsot" / "kernels-99.1").is_dir()


def test_changed_sources_are_compiled_again_into_the_same_file(tmp_path, home, monkeypatch):
    for factor in (2, 3):
        (tmp_path / "source.py").write_text(f"def scaled(x):\n    return {factor} * x[0]\n")
        spec = spec_from_file_location("source", tmp_path / "source.py")
        module = module_from_spec(spec)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
        kernels._source_digest.cache_clear()
        assert hits(module.scaled, factor) == 0
        assert hits(module.scaled, factor) == 1
    cached_files(home)


@pytest.mark.parametrize("mode", [0o702, 0o720, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(home, mode):
    hits()
    cache_folder(home).chmod(mode)
    kernels.private_folder.cache_clear()
    assert kernels.private_folder() is None
    assert [hits(), hits()] == [0, 0]


def test_a_folder_that_others_can_read_becomes_private(home):
    hits()
    cache_folder(home).chmod(0o755)
    kernels.private_folder.cache_clear()
    assert hits() == 1
    assert stat.S_IMODE(cache_folder(home).stat().st_mode) == 0o700


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

    monkeypatch.setattr(os, "replace", refuse)
    assert hits() == 1
    for path in cached_files(home):
        path.unlink()
    assert [hits(), hits()] == [0, 0]
    assert not list(cache_folder(home).iterdir())


def test_a_function_without_a_source_file_is_compiled_each_time(home):
    namespace = {}
    exec("def total(x):\n    return x.sum()", namespace)
    assert [hits(namespace["total"]), hits(namespace["total"])] == [0, 0]


def test_numba_is_imported_at_the_first_call():
    code = """
import sys
from poinsot.kernels import njit
@njit()
def twice(x):
    return 2 * x
print("numba" in sys.modules, twice(2), "numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "4", "True"]


def test_other_functions_of_numba_have_numbas_cache(home):
    import numba

    hits()
    other = numba.njit(total)
    other.enable_caching()
    assert not Path(other.stats.cache_path).is_relative_to(home)


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


def test_what_jax_compiles_is_cached_in_the_same_folder():
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    files, mode = done.stdout.split()
    assert int(files) >= 1
    assert mode == "0700"
