"""Recordings: true stamps, joined rows, held voltages, whole turns taken off."""

import numpy as np
import pytest

from poinsot_reproductions.discrete import recordings
from poinsot_reproductions.discrete.recordings import ARM, DRIVEN, FREE, PENDULUM, STAMP, VOLTAGE

HEADER = ",".join(["__time", VOLTAGE, STAMP, ARM, PENDULUM])
ROWS = [
    "10.0000,,10.0000,6.3,-6.2",
    "10.0010,1.5,,,",
    "10.0019,,10.0018,6.4,-6.3",
    "10.0050,,10.0047,6.5,-6.4",
    "10.0055,-1.0,,,",
    "10.0070,,10.0067,6.6,-6.5",
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "furuta").mkdir()
    (tmp_path / DRIVEN["step 2 V"]).write_text("\n".join([HEADER, *ROWS]) + "\n")
    free = [
        HEADER.replace(f"{VOLTAGE},", ""),
        *(row.replace(",,", ",", 1) for row in ROWS if ",," in row[:9]),
    ]
    (tmp_path / FREE).write_text("\n".join(free) + "\n")
    return tmp_path


def test_rows_without_angles_are_dropped_and_voltages_held(folder):
    read = recordings.driven(folder, "step 2 V")
    np.testing.assert_allclose(read.times, [0, 0.0018, 0.0047, 0.0067], atol=1e-9)
    assert read.voltage.tolist() == [0.0, 1.5, 1.5, -1.0]
    np.testing.assert_allclose(read.arm, np.array([6.3, 6.4, 6.5, 6.6]) - 2 * np.pi)
    np.testing.assert_allclose(read.pendulum, 2 * np.pi - np.array([6.2, 6.3, 6.4, 6.5]))


def test_a_free_recording_has_no_voltage(folder):
    read = recordings.oscillations(folder)
    assert read.voltage.tolist() == [0.0] * 4
    np.testing.assert_allclose(read.pendulum, 2 * np.pi - np.array([6.2, 6.3, 6.4, 6.5]))


def test_a_part_has_its_own_time(folder):
    part = recordings.driven(folder, "step 2 V").between(0.001, 0.006)
    np.testing.assert_allclose(part.times, [0, 0.0029], atol=1e-9)
    assert part.voltage.tolist() == [1.5, 1.5]


def test_real_recordings(shared_data):
    data = shared_data("furuta").parent
    free = recordings.oscillations(data)
    assert len(free.times) == 15258 and free.times[0] == 0 and 30 < free.times[-1] < 31
    steps = np.diff(free.times)
    assert steps.min() > 1e-3 and steps.max() < 6e-3 and np.ptp(steps) > 2e-3
    # let go near the upright position, then at rest near hanging
    assert 3.0 < np.abs(free.pendulum).max() < 3.3 and abs(free.pendulum[-1]) < 0.1
    for name, largest in (("step 2 V", 2), ("step 4 V", 4), ("sine 2 V", 2)):
        read = recordings.driven(data, name)
        assert np.abs(read.voltage).max() == largest and read.voltage[0] == 0
        assert abs(read.arm[0]) < np.pi and abs(read.pendulum[0]) < 0.1
