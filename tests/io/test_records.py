"""Logs of records in JSON."""

import json

import numpy as np
import pytest

from poinsot import Source
from poinsot.io.records import list_records, read_records


@pytest.mark.parametrize(
    ("key", "names"), [("name", ["elbow", "waist"]), ("motor", ["a", "b"]), ("torque", ["0", "1"])]
)
def test_lists_of_objects_are_named_by_them(tmp_path, key, names):
    records = [
        {
            "t": 0.1 * k,
            "joints": [{key: name if key != "torque" else 2.0, "q": k + j} for j, name in enumerate(names)],
        }
        for k in range(3)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    wanted = f"joints.{names[1]}.q"
    assert wanted in list_records(path)[0]["columns"]
    np.testing.assert_array_equal(
        read_records(Source(path, {"position.a": (wanted, "rad")}))[wanted], [1, 2, 3]
    )
