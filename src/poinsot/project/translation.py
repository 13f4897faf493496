"""Settings -> the package's own values: the only place where a project file's names meet Python's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, listing, nearest
from ..io import convert
from .settings import Settings
from .settings.methods import EssentialSettings
from .settings.preprocessing import ButterworthSettings, PreprocessingSettings
from .settings.robot import DriveSettings, OffsetSettings

if TYPE_CHECKING:
    from ..models.articulated import Articulated
    from ..models.drive import Drive


def build_robot(settings: Settings, path: Path) -> Articulated:
    """[robot], [drive] and [friction] -> the robot.

    Raises:
        UnreadableFile, InvalidModel: if the description or the drive train does not work.
        InvalidProject: if a table by joint names one that the robot does not have.
    """
    from ..models.articulated import load_robot
    from ..models.friction import NoFriction, ViscousCoulomb

    friction = settings.friction
    law = (
        NoFriction()
        if friction.law == "none"
        else ViscousCoulomb(friction.offset, friction.law == "viscous-coulomb", friction.deadband)
    )
    robot = load_robot(
        path,
        friction=law,
        floating_base=settings.robot.floating_base,
        locked=settings.robot.locked,
        gravity=settings.robot.gravity,
    )
    if settings.drive is None:
        return robot
    # Tables by joint need the robot's joints, so the drive comes second.
    robot = replace(robot, drive=build_drive(settings.drive, robot.joints))
    _ = robot.train
    if set(robot.joints) <= set(settings.drive.passive) and not settings.held:
        raise InvalidProject(
            "drive.passive lists every joint: without a motor, and without a parameter in [held], a motion only shows "
            "the ratios of parameters"
        )
    return robot


def build_drive(drive: DriveSettings, joints: Sequence[str]) -> Drive:
    """[drive] -> the drive trains of these joints."""
    from ..models.drive import Coupling, Drive

    offset = drive.position_offset
    if isinstance(offset, OffsetSettings):
        values = by_joint("drive.position_offset", offset.values, joints, 0.0)
        offset = np.asarray(convert(np.asarray(values), offset.unit)[0]).tolist()
    return Drive(
        reduction=by_joint("drive.reduction", drive.reduction, joints, 1.0),
        couplings=tuple(Coupling(each.motor, each.joint, each.ratio) for each in drive.couplings),
        side=drive.side,
        position_offset=by_joint("drive.position_offset", offset, joints, 0.0),
        gain=by_joint("drive.gain", drive.gain, joints, 1.0),
        rotor_inertia=drive.rotor_inertia,
        coupled_rotor=drive.coupled_rotor,
        coupled_friction=drive.coupled_friction,
        passive=tuple(drive.passive),
    )


def by_joint(key: str, value: Any, joints: Sequence[str], default: float | None = None) -> Any:
    """A number or a list as it is; a table by joint as a list in the robot's order, complete if there is no default."""
    if not isinstance(value, Mapping):
        return value
    for joint in value:
        if joint not in joints:
            raise InvalidProject(
                f"{key} names {joint!r}{nearest(joint, joints)}; the robot has {listing(joints)}"
            )
    missing = [joint for joint in joints if joint not in value]
    if default is None and missing:
        raise InvalidProject(f"{key} has no value for {listing(missing)}; give one for each joint")
    return [value.get(joint, default) for joint in joints]


def build_smoother(
    preprocessing: PreprocessingSettings, joints: Sequence[str], window_s: tuple[float, float] | None
) -> Any:
    """[preprocessing] -> the smoother, for a recording of these joints of which `window_s` is kept."""
    common: dict[str, Any] = {
        "window_s": window_s,
        "decimate_hz": preprocessing.decimate_hz,
        "decimation_order": preprocessing.decimation_order,
        "cut_edges": preprocessing.cut_edges,
    }
    if isinstance(preprocessing, ButterworthSettings):
        from ..signals.butterworth import ButterworthDecimation

        cutoff_hz: Any = preprocessing.cutoff_hz
        return ButterworthDecimation(cutoff_hz, order=preprocessing.order, **common)
    from ..signals.noise_variance_ratio import LogNormalPrior
    from ..signals.random_walk_smoother import PAPER_RATIO, RandomWalkSmoother

    prior = preprocessing.prior
    return RandomWalkSmoother(
        preprocessing.order,
        by_joint("preprocessing.ratio", preprocessing.ratio, joints, PAPER_RATIO),
        preprocessing.highest_cutoff,
        None if prior is None else LogNormalPrior(prior.median, prior.decades),
        cutoff_hz=by_joint("preprocessing.cutoff_hz", preprocessing.cutoff_hz, joints),
        **common,
    )


def build_method(settings: Settings) -> Any:
    """[method] -> the estimator."""
    method = settings.method
    if isinstance(method, EssentialSettings):
        from ..estimators.linear.essential import EssentialParameters

        keep: dict[str, Any] = {} if method.keep is None else {"keep": tuple(method.keep)}
        return EssentialParameters(
            max_relative_std_percent=method.max_relative_std_percent,
            significance=method.significance,
            weighting=method.weighting,
            **keep,
        )
    from ..estimators.linear.least_squares import LeastSquares

    return LeastSquares(weighting=method.weighting, parameters=method.parameters)
