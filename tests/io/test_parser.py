"""Logs in processes of their own: what they take, and that they may end."""

import signal
import struct
import subprocess
import sys
import time

import lz4.frame
import numpy as np
import pytest
import zstandard

import poinsot.io.parser as parser
from poinsot.exceptions import UnreadableFile
from poinsot.io.containers import in_process

HEAD = b"\x89MCAP0\r\n" + b"\x01" + struct.pack("<QII", 8, 0, 0)


READ = """
import resource, sys
from poinsot.exceptions import UnreadableFile
from poinsot.io import containers
from poinsot.io.message_columns import topics

containers.MEMORY = 2 << 30
try:
    topics(sys.argv[1])
except UnreadableFile as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def chunk(compression, data, size):
    """A chunk record of MCAP that claims this size."""
    text = compression.encode()
    content = struct.pack("<QQQII", 0, 0, size, 0, len(text)) + text + struct.pack("<Q", len(data)) + data
    return b"\x06" + struct.pack("<Q", len(content)) + content


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_small_chunk_that_decompresses_to_much_is_refused(tmp_path, compression):
    zeros, count = bytes(1 << 26), 64
    if compression == "zstd":
        compressor = zstandard.ZstdCompressor().compressobj(size=count * len(zeros))
        data = b"".join(compressor.compress(zeros) for _ in range(count)) + compressor.flush()
    else:
        frame = lz4.frame.LZ4FrameCompressor()
        data = frame.begin() + b"".join(frame.compress(zeros) for _ in range(count)) + frame.flush()
    (tmp_path / "log.mcap").write_bytes(HEAD + chunk(compression, data, 1000))
    # in a process without earlier children, whose memory would count too
    command = [sys.executable, "-c", READ, str(tmp_path / "log.mcap")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sentence, memory = done.stdout.splitlines()
    assert "log.mcap is damaged" in sentence
    assert int(memory) < 2 << 20  # [kB]


def test_results_and_errors_come_back(tmp_path):
    path = tmp_path / "log.mcap"
    path.write_bytes(b"")
    assert in_process(np.arange, [path], 3).tolist() == [0, 1, 2]
    with pytest.raises(UnreadableFile, match=r"log\.mcap cannot be read as a log of messages.*not supported"):
        in_process(np.arange, [path], "a")
    with pytest.raises(UnreadableFile, match="its reader crashed"):
        in_process(signal.raise_signal, [path], signal.SIGSEGV)


def test_a_process_that_does_not_end_is_stopped(tmp_path):
    (tmp_path / "log.mcap").write_bytes(b"")
    with pytest.raises(UnreadableFile, match=r"in [01] s"):
        parser.call_parser(time.sleep, tmp_path / "log.mcap", "a log", 60, memory=2**30, longest_s=0.5)
