"""Helpers of the benchmarks: alternating runs, ratios with their bounds, the recording."""
