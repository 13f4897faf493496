"""Settings -> the package's own values: the only place where a project file's names meet Python's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, listing, nearest
from ..io import convert
from .settings import Settings
from .settings.methods import (
    BodyConstraintSettings,
    EssentialSettings,
    LeastSquaresSettings,
    PayloadSettings,
    RegionSettings,
    SemidefiniteSettings,
)
from .settings.preprocessing import ButterworthSettings, SmootherSettings
from .settings.robot import DriveSettings, OffsetSettings

if TYPE_CHECKING:
    from ..estimators.linear.constraints import BodyConstraint
    from ..models.articulated import Articulated
    from ..models.drive import Drive
    from ..parameters import Normal


def build_robot(settings: Settings, path: Path) -> Articulated:
    """[robot], [drive] and [friction] -> the robot.

    Raises:
        UnreadableFile, InvalidModel: if the description or the drive train does not work.
        InvalidProject: if a table by joint names one that the robot does not have.
    """
    from ..models.articulated import load_robot
    from ..models.friction import LAWS

    law = LAWS[settings.friction.law].build(settings.friction.model_dump())
    robot = load_robot(
        path,
        friction=law,
        floating_base=settings.described.floating_base,
        locked=settings.described.locked,
        gravity=settings.described.gravity,
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
    preprocessing: SmootherSettings, joints: Sequence[str], window_s: tuple[float, float] | None
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


def build_method(settings: Settings, find: Callable[[str], Path]) -> Any:
    """[method] -> the estimator.

    Args:
        find: the place of a robot description that is named.
    """
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
    if isinstance(method, SemidefiniteSettings):
        return build_semidefinite(settings, method, find)
    if isinstance(method, PayloadSettings):
        return build_payload(method)
    assert isinstance(method, LeastSquaresSettings)
    from ..estimators.linear.least_squares import LeastSquares

    return LeastSquares(weighting=method.weighting, parameters=method.parameters)


def build_semidefinite(settings: Settings, method: SemidefiniteSettings, find: Callable[[str], Path]) -> Any:
    """[method] with its prior and its constraints."""
    from ..estimators.linear.constraints import Constraints
    from ..estimators.linear.semidefinite import SemidefiniteLeastSquares
    from ..models.articulated import load_robot

    prior = None
    if method.prior is not None:
        described = load_robot(find(method.prior), locked=settings.described.locked)
        prior = dict(zip(described.bodies, described.inertials.tolist(), strict=True))

    bodies = {name: build_constraint(body) for name, body in method.constraints.bodies.items()}
    return SemidefiniteLeastSquares(
        weighting=method.weighting,
        essential=method.essential,
        prior=prior,
        divergence=method.divergence,
        trust=method.trust,
        prior_std=method.prior_std,
        allowance=method.allowance,
        constraints=Constraints(bodies, method.constraints.total_mass),
    )


def build_constraint(body: BodyConstraintSettings) -> BodyConstraint:
    """What is certain about one body."""
    from ..estimators.linear.constraints import BodyConstraint

    return BodyConstraint(
        mass=body.mass,
        center_of_mass=None if body.center_of_mass is None else build_region(body.center_of_mass),
        inside=None if body.inside is None else build_region(RegionSettings(**body.inside.model_dump())),
        mirror=tuple(body.mirror),
        round=body.round,
    )


def build_payload(method: PayloadSettings) -> Any:
    """[method] name = "payload" -> directly or by difference; gains of another job are `gains.gains_from`'s to find."""
    from ..estimators.linear.payload.difference import PayloadDifference
    from ..estimators.linear.payload.draws import Resampling
    from ..estimators.linear.payload.identification import PayloadIdentification
    from ..parameters import Normal

    if method.approach == "difference":
        return PayloadDifference(seed=method.seed)
    point = None
    if method.center_of_mass is not None:
        x, y, z = map(Normal, method.center_of_mass.mean, method.center_of_mass.std)
        point = x, y, z
    return PayloadIdentification(
        method.estimator,
        gain_std=method.gain_std,
        identify_gains=method.identify_gains,
        center_of_mass=point,
        constraint=None if method.constraint is None else build_constraint(method.constraint),
        possible=method.possible,
        resampling=Resampling(method.draws, method.block_s, method.seed),
    )


def build_knowledge(settings: Settings) -> tuple[dict[str, float], dict[str, Normal]]:
    """[held] and [priors], with what the method knows of a load's mass -> parameters held, and priors on others."""
    from ..parameters import Normal

    held = dict(settings.held)
    priors = {name: Normal(prior.mean, prior.std) for name, prior in settings.priors.items()}
    method = settings.method
    if isinstance(method, PayloadSettings) and method.mass is not None:
        if method.mass_std:
            priors["mL"] = Normal(method.mass, method.mass_std)
        else:
            held["mL"] = method.mass
    return held, priors


def build_region(region: RegionSettings) -> Any:
    """A box, an ellipsoid or a hull."""
    from ..estimators.linear.constraints import Box, EllipsoidRegion, Hull

    if region.low is not None and region.high is not None:
        return Box(region.low, region.high)
    if region.center is not None and region.semi_axes is not None:
        return EllipsoidRegion(region.center, region.semi_axes)
    assert region.points is not None
    return Hull(region.points)
