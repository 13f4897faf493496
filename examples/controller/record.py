"""Simulate the files of this folder: an arm of six axes, its wrong description, and a log of its own.

python examples/controller/record.py      # rewrites job.toml, cad.urdf and log.parquet
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main():
    from poinsot_reproductions.controller import arm
    from poinsot_reproductions.controller.feedforward import record_log

    arm.write_job(HERE)
    record_log(HERE, np.random.default_rng(1), 10.0)


if __name__ == "__main__":
    main()
