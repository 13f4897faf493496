"""What the benchmarks share: alternating runs, ratios with their bounds, the recording."""

import os

# Before NumPy is loaded: one BLAS thread, for poinsot and peers alike.
for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
