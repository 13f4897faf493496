"""Compiling is most of what these tests do: less of it, and no more than once for each size of arrays."""

import jax
import pytest


@pytest.fixture(scope="package", autouse=True)
def quickly_compiled():
    """Machine code with fewer optimizations, for this folder only."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
