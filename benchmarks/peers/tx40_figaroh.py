"""The TX40 identification with FIGAROH's own pipeline, as its documentation asks: one subclass a robot.

Run by itself: `python benchmarks/peers/tx40_figaroh.py FOLDER [--as-published]`.

`identify` gives FIGAROH the treatment of the other two programs: 50 Hz, 0.5 s to 7.3 s, decimation by 200, ordinary
least squares, three columns for the coupled wrist. FIGAROH 1.0.2 has no place for such columns: the subclass appends
them, and leaves out the validation on the training data that `solve` ends with, which would build the regressor again
without them. `--as-published` does what FIGAROH's own example does: median of 5 and 100 Hz, the whole record but 20
samples at either end, decimation by 10, weighted least squares, no wrist coupling (1.0.2 never calls the method in
which the example adds it), validation on the training data. Figures, pages and archives are off in both.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore", "to-Python converter for .* already registered")  # ndcurves and Pinocchio

from figaroh.identification.base_identification import BaseIdentification  # noqa: E402
from figaroh.identification.identification_tools import base_param_from_standard  # noqa: E402
from figaroh.tools.robot import load_robot  # noqa: E402

RATE_HZ = 5000
REDUCTION = np.diag([32.0, 32, 45, -48, 45, 32])
REDUCTION[5, 4] = 32
COUPLING = ("Iam6", "fvm6", "fsm6")


class StaubliTX40(BaseIdentification):
    """The class that FIGAROH asks a user to write for a robot.

    Args:
        folder: folder of the recording.
        filters: settings of FIGAROH's Butterworth and median filter.
        kept: samples that enter the regressor.
        coupled: whether the wrist's three columns are appended.
    """

    def __init__(self, folder: Path, filters: dict, chosen: slice, coupled: bool):
        self.folder, self.kept, self.coupled = folder, chosen, coupled
        super().__init__(_load_without_meshes(folder / "tx40.urdf"), str(Path(__file__).with_suffix(".yaml")))
        model = self.robot.model
        joints = [model.joints[model.getJointId(name)] for name in self.identif_config["active_joints"]]
        self.identif_config["act_idxq"] = [joint.idx_q for joint in joints]
        self.identif_config["act_idxv"] = [joint.idx_v for joint in joints]
        self.filter_config = {"differentiation_method": "gradient", "filter_params": filters}

    def load_trajectory_data(self, data_source=None):
        p = pd.read_csv(self.folder / "pos_read_data.csv").to_numpy()
        c = pd.read_csv(self.folder / "curr_data.csv").to_numpy()
        q = np.linalg.solve(REDUCTION, p.T).T + np.array([0, -np.pi / 2, np.pi / 2, 0, 0, 0])
        return {
            "timestamps": (np.arange(len(p)) / RATE_HZ)[:, None],
            "positions": q,
            "velocities": None,
            "accelerations": None,
            "torques": c @ REDUCTION,
        }

    def process_torque_data(self, **_):
        for name in ("timestamps", "positions", "velocities", "accelerations"):
            self.processed_data[name] = self.processed_data[name][self.kept]
        return self.raw_data["torques"][self.kept]

    def calculate_full_regressor(self):
        super().calculate_full_regressor()
        if not self.coupled:
            return
        v, a = self.processed_data["velocities"], self.processed_data["accelerations"]
        dry = np.sign(v[:, 4] + v[:, 5])
        columns = np.zeros((6, len(v), 3))
        columns[4] = np.column_stack([a[:, 5], v[:, 5], dry])
        columns[5] = np.column_stack([a[:, 4], v[:, 4], dry])
        self.dynamic_regressor = np.c_[self.dynamic_regressor, columns.reshape(-1, 3)]

    def initialize_standard_parameters(self):
        super().initialize_standard_parameters()
        if self.coupled:
            self.standard_parameter.update({name: float(self.identif_config[name]) for name in COUPLING})

    def _compute_validation_metrics(self):
        return None if self.coupled else super()._compute_validation_metrics()


def _load_without_meshes(urdf: Path):
    """FIGAROH always loads the geometry, which does not come with the recording: leave it out of the description."""
    root = ElementTree.parse(urdf).getroot()
    for link in root.iter("link"):
        for geometry in (*link.findall("visual"), *link.findall("collision")):
            link.remove(geometry)
    with tempfile.TemporaryDirectory() as scratch:
        bare = Path(scratch) / urdf.name
        ElementTree.ElementTree(root).write(bare)
        return load_robot(str(bare), scratch)


def identify(folder: Path, as_published: bool = False) -> dict:
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):  # its quality report is part of `solve`
        if as_published:
            filters = {"nbutter": 4, "f_butter": 100.0, "f_sample": RATE_HZ}
            robot = StaubliTX40(folder, filters, slice(20, -20), coupled=False)
            robot.initialize()
            ready = time.perf_counter()
            robot.solve(decimate=True, plotting=False, wls=True)
        else:
            filters = {"nbutter": 4, "f_butter": 50.0, "med_fil": 1, "f_sample": RATE_HZ}
            # scipy.signal.decimate keeps the first sample of a block, the others the last: start 199 later
            robot = StaubliTX40(folder, filters, slice(2500 + 199, 36500), coupled=True)
            robot.initialize()
            ready = time.perf_counter()
            robot.solve(decimate=True, decimation_factor=200, plotting=False)
    done = time.perf_counter()
    residuals = robot.tau_noised - robot.tau_identif
    return {
        "seconds": {"initialize": ready - started, "solve": done - ready},
        "rows": len(robot.tau_noised),
        "relative_error_percent": float(100 * np.linalg.norm(residuals) / np.linalg.norm(robot.tau_noised)),
        "values": np.asarray(robot.phi_base).tolist(),
        "map": _map(robot),
        "standard_parameters": list(robot.standard_parameter),
    }


def _map(robot: StaubliTX40) -> list[list[float]]:
    """Its base parameters as combinations of its standard parameters, each evaluated by itself."""
    names = list(robot.standard_parameter)
    columns = [
        base_param_from_standard(dict.fromkeys(names, 0.0) | {name: 1.0}, robot.params_base) for name in names
    ]
    return np.array(columns).T.tolist()


if __name__ == "__main__":
    print(json.dumps(identify(Path(sys.argv[1]), "--as-published" in sys.argv)))
