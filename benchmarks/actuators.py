"""Servo robots from position commands: an SO-101 arm and a Go2 in the air, poinsot and mujoco.sysid.

    python benchmarks/actuators.py [--json PATH] [--full]

Both fit the same recordings and predict the same others, open loop, in MuJoCo. The Go2: each half of its recording from
the other; the arm (`--full`, many minutes): two motions, and all others that touch nothing. mujoco.sysid gets the delay
that poinsot found. Each program runs once. Of the Go2 there are two rows: with the same parameters, and with what
`poinsot reproduce actuators --case go2` adds (friction with position where it is asked for, pooled delays).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from support import needs
from support.report import Ratio, deliver, options
from support.timing import Seconds
from threadpoolctl import threadpool_limits

needs.package("mujoco.sysid")

from peers.servo_sysid import Bounds, identify  # noqa: E402

from poinsot import Actuator, ActuatorProblem, Estimate, OutputError, Recording  # noqa: E402  # noqa: E402
from poinsot.models.robot.articulated import Articulated  # noqa: E402
from poinsot.models.servo.mjcf import mjcf_text  # noqa: E402
from poinsot_reproductions.actuators import go2, so101  # noqa: E402
from poinsot_reproductions.actuators.predictions import Recorded, predict, timestep_of  # noqa: E402
from poinsot_reproductions.described import described_robot  # noqa: E402

PEER = f"mujoco.sysid ({metadata.version('mujoco')})"
ITERATIONS = 30
OF_ARM: Bounds = {
    "stiffness": (20.0, 1.0, 400.0),
    "velocity_gain": (1.0, 0.0, 20.0),
    "damping": (0.5, 0.0, 10.0),
    "coulomb": (0.1, 0.0, 5.0),
    "zero": (0.0, -0.1, 0.1),
}
OF_LEG: Bounds = {
    "damping": (0.5, 0.0, 10.0),
    "coulomb": (0.2, 0.0, 5.0),
    "armature": (0.02, 0.0, 0.2),
    "zero": (0.0, -0.1, 0.1),
}
TOUCHING = (
    "figure_eight", "large_amplitude", "oscillation_low_freq", "pick_place", "random_waypoints", "reaching_points",
    "single_joint_elbow", "workspace_sweep",
)  # fmt: skip
"""Motions of the arm that `poinsot reproduce actuators --case so101` finds to touch the table."""
FITTED = ("chirp_sweep", "multisine")
"""Those that it chooses."""


@dataclass(frozen=True)
class Row:
    """One robot.

    Args:
        ratio_seconds: processor time of the peer over ours.
        peer_heldout_rms_mrad, ours_heldout_rms_mrad: joint, or kind of joint, -> error in what was not fitted.
    """

    what: str
    peer: str
    unknowns: int
    ratio_seconds: float
    peer_heldout_rms_mrad: Mapping[str, float]
    ours_heldout_rms_mrad: Mapping[str, float]


def sysid_actuators(
    robot: Articulated, given: Sequence[Actuator], bounds: Bounds, recorded: Sequence[Recorded]
) -> tuple[Actuator, ...]:
    """Identify actuators by mujoco.sysid.

    Args:
        given: held numbers and delays of every joint.
    """
    step = timestep_of(recorded[0])
    begin = [actuator.updated({name: start for name, (start, _, _) in bounds.items()}) for actuator in given]
    of_peer = []
    for recording in recorded:
        motion = recording.motion
        clock = step * np.arange(int(motion.time[-1] / step))
        late = clock[:, None] - np.array([actuator.delay for actuator in given])
        at = np.maximum(np.searchsorted(motion.time, late, side="right") - 1, 0)
        positions = np.stack([np.interp(clock, motion.time, q) for q in recording.measured.T], axis=1)
        of_peer.append((clock, np.take_along_axis(motion.commands, at, axis=0), positions))
    # without the delay, which is in the commands
    text = mjcf_text(robot, [actuator.updated({"delay": 0.0}) for actuator in begin], timestep=step)
    identified = identify(text, robot.joints, bounds, of_peer, ITERATIONS)
    return tuple(actuator.updated(identified[actuator.name]) for actuator in begin)


def processor_seconds(run):
    """Seconds of one run, and its result."""
    begun, passed = time.process_time(), time.perf_counter()
    result = run()
    return Seconds(time.process_time() - begun, time.perf_counter() - passed), result


def arm(folder: Path) -> tuple[dict[str, Seconds], Row]:
    """The SO-101, with the numbers of its servo that are published."""
    robot = so101.Arm.read(folder)
    recorded = {
        name: Recorded.of(name, recording, robot.robot.joints) for name, recording in robot.recordings.items()
    }
    held = [recording for name, recording in recorded.items() if name not in (*TOUCHING, *FITTED)]
    ours, estimate = processor_seconds(
        lambda: OutputError(friction_laws=so101.LAWS).solve(robot.problem(FITTED))
    )
    given = [
        Actuator(actuator.name, 1.0, delay=actuator.delay, **so101.KNOWN)
        for actuator in estimate.actuators.actuators
    ]
    peer, actuators = processor_seconds(
        lambda: sysid_actuators(robot.robot, given, OF_ARM, [recorded[name] for name in FITTED])
    )

    def errors(of: Sequence[Actuator]) -> dict[str, float]:
        simulated, _ = predict(robot.robot, of, held)
        rms = [robot.scale * recording.rms(q) for recording, q in zip(held, simulated, strict=True)]
        return dict(zip(so101.JOINTS.values(), np.median(rms, axis=0).tolist(), strict=True))

    row = Row(
        "SO-101, median over motions", PEER, len(OF_ARM) * len(given), peer / ours, errors(actuators),
        errors(estimate.actuators.actuators),
    )  # fmt: skip
    return {"SO-101, poinsot": ours, "SO-101, mujoco.sysid": peer}, row


def legs(folder: Path) -> tuple[dict[str, Seconds], list[Row]]:
    """The Go2, whose gains are known: with the peer's parameters, and as the case of `poinsot reproduce` does it."""
    robot = described_robot("go2_description", "urdf", "go2.urdf")
    halves = go2.read_halves(folder / go2.FILE, robot)
    recorded = {name: Recorded.of(name, half, robot.joints) for name, half in halves.items()}

    def same(name: str, half: Recording) -> Estimate:
        problem = ActuatorProblem(
            robot, {name: half}, open=go2.OPEN, held=go2.GAINS, step_s=timestep_of(recorded[name])
        )
        return OutputError().solve(problem)

    runs = {
        "Go2, poinsot, the same parameters": lambda: {
            name: same(name, half) for name, half in halves.items()
        },
        "Go2, poinsot, the case": lambda: {
            name: go2.estimate_half(robot, name, half)[1] for name, half in halves.items()
        },
    }
    seconds, identified = {}, {}
    for program, run in runs.items():
        seconds[program], estimates = processor_seconds(run)
        identified[program] = {name: estimate.actuators.actuators for name, estimate in estimates.items()}
    given = {
        name: [Actuator(actuator.name, delay=actuator.delay, **go2.GAINS) for actuator in actuators]
        for name, actuators in identified["Go2, poinsot, the case"].items()
    }
    seconds["Go2, mujoco.sysid"], of_peer = processor_seconds(
        lambda: {name: sysid_actuators(robot, given[name], OF_LEG, [half]) for name, half in recorded.items()}
    )

    def errors(of: Mapping[str, Sequence[Actuator]]) -> dict[str, float]:
        rms = []
        for name, other in zip(recorded, reversed(list(recorded.values())), strict=True):
            rms.append(1e3 * other.rms(predict(robot, of[name], [other])[0][0]))
        largest = np.max(rms, axis=0)
        return {
            part: float(max(x for x, joint in zip(largest, robot.joints, strict=True) if part in joint))
            for part in go2.PARTS
        }

    return seconds, [
        Row(
            f"{program}, largest over legs and halves", PEER, len(OF_LEG) * len(robot.joints),
            seconds["Go2, mujoco.sysid"] / seconds[program], errors(of_peer), errors(identified[program]),
        )
        for program in runs
    ]  # fmt: skip


def calves(row: Row) -> float:
    """Our error by the peer's."""
    return row.ours_heldout_rms_mrad["calf"] / row.peer_heldout_rms_mrad["calf"]


def main() -> None:
    arguments = options(__doc__, full="the SO-101 too, which takes mujoco.sysid many minutes")
    folder = needs.recording("go2").parent
    with threadpool_limits(limits=1):
        seconds, rows = legs(folder)
        same, case = rows
        ratios = [
            Ratio("Go2: mujoco.sysid / poinsot, the same parameters", same.ratio_seconds, at_least=3),
            Ratio("Go2: mujoco.sysid / poinsot, the case", case.ratio_seconds),
            Ratio("Go2: held-out error of calves, poinsot / mujoco.sysid, the same parameters", calves(same)),
            Ratio("Go2: held-out error of calves, poinsot / mujoco.sysid, the case", calves(case), at_most=1),
        ]
        if arguments.full:
            of_arm, row = arm(folder)
            seconds |= of_arm
            rows.append(row)
            worst = max(
                row.ours_heldout_rms_mrad[name] / value for name, value in row.peer_heldout_rms_mrad.items()
            )
            ratios.append(Ratio("SO-101: mujoco.sysid / poinsot", row.ratio_seconds, at_least=15))
            ratios.append(
                Ratio("SO-101: held-out error, poinsot / mujoco.sysid, worst joint", worst, at_most=1.1)
            )
    notes = [
        f"{row.what} [mrad, 1/1000]: {who} " + ", ".join(f"{name} {value:.1f}" for name, value in of.items())
        for row in rows
        for who, of in (("poinsot", row.ours_heldout_rms_mrad), (PEER, row.peer_heldout_rms_mrad))
    ]
    deliver("actuators", arguments, seconds, ratios, notes=notes, rows=rows)


if __name__ == "__main__":
    main()
