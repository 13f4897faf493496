"""What the benchmarks share: alternating runs, ratios with their bounds, the recording."""
