"""Machine code kept from one process to the next: functions of a mechanism take seconds to compile."""

from __future__ import annotations

import jax

from ...cache import cache_folder

MIN_COMPILE_TIME = 0.3
"""Machine code that takes less than this to compile is not kept [s]."""


def keep_compiled() -> None:
    """Keep what this process compiles from here on in the user's cache, unless JAX has another cache folder."""
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILE_TIME)
