"""LeRobot data sets as LeRobot writes them: version 2.1 (a file an episode) and 3.0 (several episodes a file)."""

import json
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

import poinsot
from poinsot.exceptions import PoinsotError, UnreadableFile
from poinsot.io import lerobot
from poinsot.io.lerobot import guess_unit, list_episodes, open_lerobot, read_lerobot, read_lerobot_columns

NAMES = ["shoulder_pan.pos", "elbow_flex.pos", "gripper.pos"]
LENGTHS = (5, 7, 4)
SCALARS = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64"}


def values(episode, shift=0.0, scale=1.0):
    return scale * (10.0 * episode + np.arange(3 * LENGTHS[episode]).reshape(-1, 3) + shift)


def frames(episode, scale=1.0):
    n = LENGTHS[episode]
    start = sum(LENGTHS[:episode])
    lists = pl.Array(pl.Float32, 3)
    return pl.DataFrame(
        {
            "action": pl.Series(values(episode, scale=scale).tolist(), dtype=lists),
            "observation.state": pl.Series(values(episode, 0.5, scale).tolist(), dtype=lists),
            "timestamp": pl.Series(np.arange(n) / 30, dtype=pl.Float32),
            "frame_index": np.arange(n),
            "episode_index": np.full(n, episode),
            "index": start + np.arange(n),
            "task_index": np.zeros(n, dtype=int),
        }
    )


def description(version, path, names=NAMES):
    features = {
        name: {"dtype": "float32", "shape": [3], "names": names} for name in ("action", "observation.state")
    }
    features |= {name: {"dtype": dtype, "shape": [1], "names": None} for name, dtype in SCALARS.items()}
    features["observation.images.front"] = {
        "dtype": "video",
        "shape": [480, 640, 3],
        "names": ["height", "width", "channels"],
    }
    return {
        "codebase_version": version,
        "robot_type": "so101_follower",
        "total_episodes": len(LENGTHS),
        "total_frames": sum(LENGTHS),
        "total_tasks": 1,
        "chunks_size": 1000,
        "fps": 30,
        "splits": {"train": f"0:{len(LENGTHS)}"},
        "data_path": path,
        "features": features,
    }


def write_v21(folder, scale=1.0, names=NAMES):
    path = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    (folder / "meta").mkdir(parents=True)
    (folder / "data/chunk-000").mkdir(parents=True)
    (folder / "meta/info.json").write_text(json.dumps(description("v2.1", path, names)))
    for episode in range(len(LENGTHS)):
        frames(episode, scale).write_parquet(folder / f"data/chunk-000/episode_{episode:06d}.parquet")
    return folder


def write_v30(folder, scale=1.0, names=NAMES):
    """Episodes 0 and 1 in one file, 2 in the next."""
    path = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    (folder / "meta/episodes/chunk-000").mkdir(parents=True)
    (folder / "data/chunk-000").mkdir(parents=True)
    (folder / "meta/info.json").write_text(json.dumps(description("v3.0", path, names)))
    files = [0, 0, 1]
    ends = np.cumsum(LENGTHS)
    pl.DataFrame(
        {
            "episode_index": [0, 1, 2],
            "tasks": [["move"]] * 3,
            "length": list(LENGTHS),
            "data/chunk_index": [0, 0, 0],
            "data/file_index": files,
            "dataset_from_index": ends - LENGTHS,
            "dataset_to_index": ends,
        }
    ).write_parquet(folder / "meta/episodes/chunk-000/file-000.parquet")
    for file in (0, 1):
        of_file = [frames(episode, scale) for episode in range(3) if files[episode] == file]
        pl.concat(of_file).write_parquet(folder / f"data/chunk-000/file-{file:03d}.parquet")
    return folder


@pytest.mark.parametrize("write", [write_v21, write_v30])
@pytest.mark.parametrize("episode", [0, 1, 2])
def test_an_episode_comes_back_by_joint(tmp_path, write, episode):
    recording = read_lerobot(write(tmp_path), episode, units="deg")
    assert list(recording.channels) == [
        *(f"position_command.{joint}" for joint in ("shoulder_pan", "elbow_flex", "gripper")),
        *(f"position.{joint}" for joint in ("shoulder_pan", "elbow_flex", "gripper")),
    ]
    np.testing.assert_allclose(
        recording["position_command.elbow_flex"], np.radians(values(episode)[:, 1]), rtol=1e-6
    )
    np.testing.assert_allclose(
        recording["position.gripper"], np.radians(values(episode, 0.5)[:, 2]), rtol=1e-6
    )
    np.testing.assert_array_equal(recording.time, np.arange(LENGTHS[episode]) / 30)
    assert set(recording.units.values()) == {"rad"}


@pytest.mark.parametrize("write", [write_v21, write_v30])
def test_a_project_reads_columns_by_their_path(tmp_path, write):
    source = poinsot.Source(
        write(tmp_path) / "meta/info.json",
        {"position.elbow": ("/1/observation.state/elbow_flex.pos", "deg")},
        ("/1/timestamp", "s"),
    )
    columns = read_lerobot_columns(source)
    np.testing.assert_allclose(columns["/1/observation.state/elbow_flex.pos"], values(1, 0.5)[:, 1])
    np.testing.assert_allclose(columns["/1/timestamp"], np.arange(7) / 30, rtol=1e-6)


def test_shares_of_the_travel_become_radians_where_the_travel_is_known(tmp_path):
    units = {"shoulder_pan": "+-100", "elbow_flex": "+-100", "gripper": "0 to 100"}
    recording = read_lerobot(write_v21(tmp_path), units=units, limits={"shoulder_pan": (-1.0, 3.0)})
    np.testing.assert_allclose(
        recording["position_command.shoulder_pan"], 1 + 2 * values(0)[:, 0] / 100, rtol=1e-6
    )
    np.testing.assert_allclose(
        recording["position_command.elbow_flex"], 0.5 + values(0)[:, 1] / 200, rtol=1e-6
    )
    np.testing.assert_allclose(recording["position_command.gripper"], values(0)[:, 2] / 100, rtol=1e-6)
    assert [recording.units[f"position.{joint}"] for joint in units] == ["rad", "1", "1"]


def test_units_that_are_not_declared_are_guessed_and_said(tmp_path):
    degrees = read_lerobot(write_v21(tmp_path / "degrees", scale=8.0), 0)
    assert degrees.units["position.shoulder_pan"] == "rad"
    assert any("'gripper' are taken to be in 'deg': it goes beyond 100" in step for step in degrees.steps)
    shares = read_lerobot(write_v21(tmp_path / "shares"), 0)
    assert any("taken to be in '0 to 100': a guess" in step for step in shares.steps)
    radians = read_lerobot(write_v21(tmp_path / "radians", scale=0.1), 0)
    np.testing.assert_allclose(radians["position_command.elbow_flex"], 0.1 * values(0)[:, 1], rtol=1e-6)


def test_limits_decide_between_degrees_and_shares():
    motion = np.array([-20.0, 80.0])
    assert guess_unit(motion, 150.0, (-0.2, 1.7))[0] == "+-100"
    assert guess_unit(motion, 150.0, (-1.0, 1.7))[0] == "deg"
    assert guess_unit(np.array([5.0, 95.0]), 95.0, (-0.2, 1.0))[0] == "0 to 100"


def test_names_may_be_grouped_or_absent(tmp_path):
    grouped = write_v21(tmp_path / "grouped", names={"motors": ["a", "b", "c"]})
    assert open_lerobot(grouped).features["action"] == ("a", "b", "c")
    unnamed = write_v21(tmp_path / "unnamed", names=None)
    assert open_lerobot(unnamed).features["action"] == ("0", "1", "2")
    assert "position.2" in read_lerobot(unnamed, units="deg").channels


def edit(folder, **changes):
    path = folder / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codebase_version": "v1.6"}, "version 'v1.6' cannot be read"),
        ({"fps": 0}, "fps is 0"),
        ({"fps": "fast"}, "does not describe a LeRobot data set: ValueError"),
        ({"features": 3}, "does not describe a LeRobot data set: AttributeError"),
        (
            {"features": {"action": {"dtype": "float32", "shape": [10**9], "names": None}}},
            "has 1000000000 entries",
        ),
        ({"data_path": "../../{episode_index:06d}.parquet"}, "does not lead to a file in the data set"),
        ({"data_path": "{episode_index:0999999999d}"}, "does not lead to a file in the data set"),
        ({"data_path": "{episode_index.__class__}"}, "does not lead to a file in the data set"),
        ({"data_path": "data/none.parquet"}, "no file .*none.parquet"),
    ],
)
def test_a_damaged_or_hostile_description_is_one_sentence(tmp_path, changes, message):
    with pytest.raises(UnreadableFile, match=message):
        read_lerobot(edit(write_v21(tmp_path), **changes))


def test_deep_and_damaged_files_are_one_sentence(tmp_path):
    folder = write_v21(tmp_path)
    (folder / "data/chunk-000/episode_000001.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(UnreadableFile, match="cannot be read as Parquet"):
        read_lerobot(folder, 1)
    frames(2).with_columns(action=pl.Series([[1.0], [1.0, 2.0], [], [3.0]])).write_parquet(
        folder / "data/chunk-000/episode_000002.parquet"
    )
    with pytest.raises(UnreadableFile, match="lists of 'action' do not all have 3 entries"):
        read_lerobot(folder, 2)
    (folder / "meta/info.json").write_text("[" * 200_000)
    with pytest.raises(UnreadableFile, match="cannot be read as JSON"):
        read_lerobot(folder)


def test_what_does_not_exist_is_named(tmp_path):
    folder = write_v21(tmp_path)
    with pytest.raises(UnreadableFile, match="no episode 3; it has 3"):
        read_lerobot(folder, 3)
    with pytest.raises(UnreadableFile, match=r"no feature 'actions'; did you mean 'action'"):
        read_lerobot(folder, command="actions")
    with pytest.raises(UnreadableFile, match="cannot be in 'degrees'"):
        read_lerobot(folder, units="degrees")
    with pytest.raises(UnreadableFile, match="did you mean 'elbow_flex'"):
        read_lerobot(folder, units={"elbow": "deg"})
    with pytest.raises(UnreadableFile, match=r"no column '/0/action/elbow'; did you mean"):
        read_lerobot_columns(poinsot.Source(folder / "meta/info.json", {"a": ("/0/action/elbow", "deg")}))


@pytest.mark.parametrize("count", [15, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("write", [write_v21, write_v30])
def test_damaged_tables_are_one_sentence_or_are_read(tmp_path, write, count, rng):
    folder = write(tmp_path)
    path = sorted((folder / "data/chunk-000").glob("*.parquet"))[0]
    content = path.read_bytes()
    for _ in range(count):
        changed = bytearray(content)
        for _ in range(rng.integers(1, 5)):
            changed[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(
            bytes(changed[: rng.integers(len(content))]) if rng.random() < 0.2 else bytes(changed)
        )
        with suppress(PoinsotError):
            read_lerobot(folder, 0, units="deg")


@pytest.mark.parametrize("write", [write_v21, write_v30])
def test_a_file_that_claims_more_frames_than_are_read_is_refused(tmp_path, write, monkeypatch):
    folder = write(tmp_path)
    monkeypatch.setattr(lerobot, "MAX_FRAMES", 2)
    with pytest.raises(UnreadableFile, match="rows, more than the 2 that are read"):
        read_lerobot(folder)


def test_the_data_set_is_listed_for_inspect(tmp_path):
    content, text = list_episodes(write_v30(tmp_path) / "meta/info.json")
    assert content["episodes"] == 3
    assert content["features"]["action"] == NAMES
    assert "3 episodes at 30 Hz" in text
    assert "/0/action: shoulder_pan.pos, elbow_flex.pos, gripper.pos" in text


def test_poinsot_reads_an_episode_once_the_distribution_is_installed(tmp_path):
    folder = write_v30(tmp_path / "data set")
    recording = poinsot.read_recording(
        folder / "meta/info.json",
        {
            "position.elbow": ("/1/observation.state/elbow_flex.pos", "deg"),
            "position_command.elbow": ("/1/action/elbow_flex.pos", "deg"),
        },
        time=("/1/timestamp", "s"),
    )
    np.testing.assert_allclose(recording["position.elbow"], np.radians(values(1, 0.5)[:, 1]))
    assert recording.units["position_command.elbow"] == "rad"
    assert "episode 1 of a LeRobot data set v3.0 of so101_follower" in recording.steps
    with pytest.raises(UnreadableFile, match="columns of episodes 0, 1 are asked for together"):
        poinsot.read_recording(
            folder / "meta/info.json", {"a": ("/0/index", "1"), "b": ("/1/index", "1")}, rate_hz=30.0
        )
