"""MuJoCo, or one sentence that says how to install it."""

from ..exceptions import MissingExtra

try:
    import mujoco
    import mujoco.rollout
except ImportError:
    raise MissingExtra("sim", "mujoco") from None

__all__ = ["mujoco"]
