import numpy as np
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.planar import Wall, floor
from poinsot.models.planar.body import wall_array


def test_walls_are_told_in_their_order():
    walls = [floor(0.1, 0.2), Wall(-1.0, 2.0, -np.pi / 2)]
    np.testing.assert_array_equal(wall_array(walls), [[0.0, 0.1, 0.2], [-1.0, 2.0, -np.pi / 2]])


def test_walls_that_mean_nothing_are_refused():
    with pytest.raises(InvalidModel, match="finite x, y and slope"):
        Wall(np.nan)
    with pytest.raises(InvalidModel, match="finite x, y and slope"):
        floor(slope=np.inf)
    with pytest.raises(InvalidModel, match="nothing to strike; give at least one wall"):
        wall_array([])
