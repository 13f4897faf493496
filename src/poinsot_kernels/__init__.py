"""Compiled kernels, kept on disk: what knows nothing of mechanisms.

kernels        Numba's decorator, whose machine code is kept for this user and version
machine_code   how kept kernels are called without Numba
"""

from .kernels import njit as njit
