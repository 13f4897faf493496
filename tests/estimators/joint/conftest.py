"""Compiling is most of what these tests do: less of it, and once for each form of the one model that they share."""

import jax
import pytest

from poinsot.estimators.joint import forms


@pytest.fixture(scope="package", autouse=True)
def quickly_compiled():
    """Machine code with fewer optimizations, for this folder only; and short chunks, so that records are of several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "SAMPLES", 16)
        jax.config.update("jax_disable_most_optimizations", True)
        yield
        jax.config.update("jax_disable_most_optimizations", False)
