import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from poinsot import read_recording, write_recording
from poinsot.exceptions import InvalidRecording, UnreadableFile, UnwritableOutput
from poinsot.recording import Recording

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def recordings(draw):
    length = draw(st.integers(2, 12))
    steps = draw(arrays(float, length, elements=st.floats(1e-6, 1e3)))
    names = draw(st.lists(st.text(min_size=1, max_size=10), min_size=1, max_size=4, unique=True))
    channels, valid = {}, {}
    for name in names:
        if draw(st.booleans()):
            channels[name] = draw(
                arrays(float, length, elements=st.floats(allow_nan=False, allow_infinity=False))
            )
        else:
            channels[name] = draw(arrays(float, length, elements=st.floats()))
            valid[name] = np.isfinite(channels[name]) & draw(arrays(bool, length))
    metadata = draw(st.dictionaries(st.text(max_size=6), json_values, max_size=3))
    return Recording(np.cumsum(steps), channels, dict.fromkeys(names, "rad"), valid, metadata)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@settings(max_examples=60)
@given(recordings())
def test_round_trip_is_exact(tmp_path_factory, recording):
    path = tmp_path_factory.mktemp("npz") / "r.npz"
    write_recording(recording, path)
    again = read_recording(path)
    assert same_bits(again.time, recording.time)
    assert list(again.channels) == list(recording.channels)
    assert dict(again.units) == dict(recording.units)
    assert all(same_bits(again[name], recording[name]) for name in recording.channels)
    assert again.valid.keys() == recording.valid.keys()
    assert all(same_bits(again.valid[name], recording.valid[name]) for name in recording.valid)
    assert dict(again.metadata) == dict(recording.metadata)
    first = path.read_bytes()
    write_recording(again, path)
    assert path.read_bytes() == first


@pytest.fixture
def recording():
    return Recording(np.arange(4.0), {"x": np.ones(4)}, {"x": "m"})


def test_numpy_opens_it_too(recording, tmp_path):
    write_recording(recording, tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["channel_0"], np.ones(4))


def test_metadata_that_json_cannot_hold_is_refused(recording, tmp_path):
    with pytest.raises(InvalidRecording, match="metadata cannot be written"):
        write_recording(
            Recording(recording.time, recording.channels, recording.units, {}, {"a": object()}),
            tmp_path / "r.npz",
        )
    assert not list(tmp_path.iterdir())


def test_it_brings_its_own_clock(recording, tmp_path):
    write_recording(recording, tmp_path / "r.npz")
    with pytest.raises(InvalidRecording, match="brings its own"):
        read_recording(tmp_path / "r.npz", rate_hz=100)


def test_unwritable(recording, tmp_path):
    with pytest.raises(UnwritableOutput):
        write_recording(recording, tmp_path / "nowhere" / "r.npz")


def rewritten(path, change):
    """The archive with each member passed through `change(name, content) -> content or None`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if (new := change(name, content)) is not None:
                archive.writestr(name, new)


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("member", "content", "sentence"),
    [
        ("header.json", None, "it has no header.json"),
        ("header.json", b'{"schema": "poinsot.recording/99"}', "reads 'poinsot.recording/1'"),
        ("header.json", b"[" * 100_000, "damaged"),
        ("header.json", b'{"schema": "poinsot.recording/1"}', "damaged"),
        ("header.json", b"\xff\xfe", "damaged"),
        ("time.npy", None, "damaged"),
        ("channel_0.npy", b"not an array", "damaged"),
        ("channel_0.npy", npy(np.array([{}], dtype=object), allow_pickle=True), "damaged"),
        ("channel_0.npy", npy(np.ones((2, 2))), "damaged"),
        ("channel_0.npy", npy(np.ones(4, dtype=np.float32)), "damaged"),
        # A header that promises eight petabytes.
        ("channel_0.npy", npy(np.ones(4)).replace(b"(4,), }         ", b"(999999999999,)}"), "damaged"),
    ],
)  # fmt: skip
def test_damaged_archives_are_refused(recording, tmp_path, member, content, sentence):
    path = tmp_path / "r.npz"
    write_recording(recording, path)
    rewritten(path, lambda name, old: content if name == member else old)
    with pytest.raises(UnreadableFile, match=sentence):
        read_recording(path)


def test_nothing_compressed_is_unpacked(recording, tmp_path):
    write_recording(recording, tmp_path / "r.npz")
    with zipfile.ZipFile(tmp_path / "r.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UnreadableFile, match="compressed"):
        read_recording(tmp_path / "bomb.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"time,x\n0,1\n"])
def test_no_archive_at_all(tmp_path, content):
    (tmp_path / "r.npz").write_bytes(content)
    with pytest.raises(UnreadableFile):
        read_recording(tmp_path / "r.npz")


def test_every_cut_of_a_file_is_refused(recording, tmp_path):
    write_recording(recording, tmp_path / "r.npz")
    content = (tmp_path / "r.npz").read_bytes()
    for length in range(0, len(content), 37):
        (tmp_path / "cut.npz").write_bytes(content[:length])
        with pytest.raises((UnreadableFile, InvalidRecording)):
            read_recording(tmp_path / "cut.npz")
