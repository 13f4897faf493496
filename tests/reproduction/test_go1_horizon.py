"""The moving horizon of the walking quadruped in short."""

import pytest

from poinsot_reproductions.optimal_estimation import moving_horizon
from references.robots import described


@pytest.mark.slow
def test_the_payload_is_known_a_second_after_it_was_put_on(tmp_path):
    described("go1_description/urdf/go1.urdf")
    result = moving_horizon.run(21, quick=True)
    assert abs(result.figures["mass_error_percent_after_1s"]) < 2
    assert result.figures["largest_before_kg"] < 0.2
    result.write_page(tmp_path / "horizon.html")
    assert "Go1 gets a payload" in (tmp_path / "horizon.html").read_text()
