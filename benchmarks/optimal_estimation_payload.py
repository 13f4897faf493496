"""A payload on a seven-axis arm from encoders and torques: optimal estimation beside mujoco.sysid.

    python benchmarks/optimal_estimation_payload.py [--json PATH] [--rounds N] [--save-baseline]

A Panda moves for 5 s in MuJoCo, sampled and simulated at 500 Hz, with a payload of 1.5 kg, damping and dry friction
in every joint. Encoders have noise of 1e-4 rad, the torques are known. Unknown are the ten numbers of the payload,
seven of damping and seven of dry friction; both programs start from the same values, of which the mass is 1 kg.

mujoco.sysid is given the simulator that made the recording, with its law of dry friction and its step, and the true
first state. From that alone it diverges; so it simulates parts of a quarter of a second, beginning in the states that
smoothed encoders give, which are also poinsot's guess. Once more it is given the true states, which nobody has.

poinsot is given no state at all. It has its own dynamics, in which dry friction is tanh(v / 0.04 rad/s), so wherever a
joint turns round, slower than 0.2 rad/s, its process noise is large. It ends after four iterations: by then mass and
friction have settled, while speeds where joints turn round go on wandering within their noise. All use one thread.
Errors of the mass are root mean squares over three draws of the encoders' noise.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import support  # noqa: F401  BLAS on one thread, before NumPy
from scipy.signal import savgol_filter
from support import needs
from support.report import Agreement, Ratio, Row, deliver, options
from support.timing import Program, side_by_side

needs.package("mujoco")

import mujoco  # noqa: E402
from peers.payload_sysid import identify  # noqa: E402

from poinsot.estimators.shooting.ddp import DDP  # noqa: E402
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories  # noqa: E402
from poinsot.estimators.shooting.robot import RobotTrajectoryModel  # noqa: E402
from poinsot.models.contacts.contacts import ContactSchedule  # noqa: E402
from poinsot.models.robot.articulated import Articulated, load_robot  # noqa: E402
from poinsot.models.robot.open_parameters import OpenParameters  # noqa: E402
from poinsot.models.sensors import JointPosition, Readings  # noqa: E402

SECONDS, PERIOD = 5.0, 2e-3
ENCODER = 1e-4
"""Standard deviation of the encoders [rad]."""
DRY_SPEED, NOISE = 0.04, 1e-4
"""What poinsot assumes: dry friction as tanh(v / DRY_SPEED), and noise of speeds in a step [rad/s]."""
SLOW, TURNING = 0.2, 0.02
"""Below this speed [rad/s] the noise is that one [rad/s]."""
ITERATIONS = 4
SMOOTHED, TRUE = "mujoco.sysid, smoothed states", "mujoco.sysid, true states"
DAMPING = np.array([1.0, 1.0, 0.8, 0.8, 0.4, 0.4, 0.3])
FRICTION = np.array([0.6, 0.6, 0.5, 0.5, 0.25, 0.25, 0.2])
TYPICAL = np.array([0.7, 0.7, 0.7, 0.7, 0.3, 0.3, 0.3]), np.array([0.4, 0.4, 0.4, 0.4, 0.3, 0.3, 0.3])
"""Where both start: damping and dry friction."""
PARTS = 20
"""Of the recording, each of which the peer simulates by itself."""
HOME = np.array([0.0, -0.5, 0.0, -1.9, 0.0, 1.6, 0.8])


def box(mass: float, center: tuple[float, ...], sides: tuple[float, ...]) -> np.ndarray:
    """(10,) pi of a box at `center` in the frame of the last body."""
    c, s2 = np.array(center), np.square(sides)
    I = mass * (np.diag(s2.sum() - s2) / 12 + c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


PAYLOAD = box(1.5, (0.03, -0.02, 0.22), (0.12, 0.08, 0.15))
GUESS = box(1.0, (0.0, 0.0, 0.18), (0.1, 0.1, 0.1))


def main() -> None:
    arguments = options(__doc__)
    robot = panda()
    times, torques, x = recording(robot)
    nodes = len(times)
    encoders = [
        x[:, :7] + ENCODER * np.random.default_rng(k).standard_normal((nodes, 7)) for k in range(1, 4)
    ]
    guesses = {"damping": TYPICAL[0], "frictionloss": TYPICAL[1]}

    def peer(draw: int, states: np.ndarray) -> dict[str, float]:
        arm = spec(robot, GUESS, *TYPICAL)
        return identify(arm, first_states(robot, states, PARTS), times, torques, encoders[draw], guesses)

    programs = {
        "poinsot": lambda draw=0: estimate(robot, times, torques, encoders[draw]),
        SMOOTHED: lambda draw=0: peer(draw, np.concatenate([x[:1], smoothed(encoders[draw])[1:]])),
        TRUE: lambda draw=0: peer(draw, x),
    }
    seconds, results = side_by_side(
        {name: Program(run, 3 if name == "poinsot" else 1) for name, run in programs.items()},
        arguments.rounds or 1,
    )
    off = {
        name: [100 * (found["mass"] / PAYLOAD[0] - 1) for found in (results[name], run(1), run(2))]
        for name, run in programs.items()
    }
    error = {name: float(np.sqrt(np.mean(np.square(each)))) for name, each in off.items()}
    ours = results["poinsot"]
    ratio = {name: seconds[name] / seconds["poinsot"] for name in (SMOOTHED, TRUE)}
    deliver(
        "optimal_estimation_payload",
        arguments,
        seconds,
        [
            Ratio(f"{SMOOTHED} / poinsot", ratio[SMOOTHED], at_least=20),
            Ratio(f"{TRUE} / poinsot", ratio[TRUE]),
        ],
        [
            Agreement(
                "error of the mass, poinsot [%]; allowed is mujoco.sysid's", error["poinsot"], error[SMOOTHED]
            )
        ],
        [
            *(
                f"{name}: error of the mass {', '.join(f'{e:+.3f}' for e in each)} %, "
                f"root mean square {error[name]:.3f} %"
                for name, each in off.items()
            ),
            f"poinsot: {ours['iterations']} iterations; largest errors: damping {ours['damping_error']:.3f} N m s/rad, "
            f"dry friction {ours['friction_error']:.3f} N m",
            *(f"{name}: {results[name]['simulations']} simulations of the recording" for name in ratio),
        ],
        rows=[
            Row(
                "a payload on a seven-axis arm, 5 s at 500 Hz, whole estimate",
                1e6 * seconds["poinsot"].processor / nodes,
                f"{name} ({metadata.version('mujoco')})",
                1e6 * seconds[name].processor / nodes,
                1 / ratio[name],
            )
            for name in ratio
        ],
    )


def panda() -> Articulated:
    try:
        files = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        sys.exit("the arm is read from the package example-robot-data: pip install 'poinsot[robots]'")
    path = Path(str(files.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    fingers = {f"panda_finger_joint{k}": 0.02 for k in (1, 2)}
    return load_robot(path / "panda_description/urdf/panda.urdf", locked=fingers)


# ------------------------------------------------------------------------------------------------------------ recording


def spec(robot: Articulated, payload: np.ndarray, damping: np.ndarray, friction: np.ndarray) -> mujoco.MjSpec:
    """MuJoCo's arm: the same bodies and joints, the payload a body of its own, no contact, semi-implicit Euler."""
    model = robot.model
    arm = mujoco.MjSpec()
    arm.option.timestep = PERIOD
    arm.option.gravity = model.gravity.linear
    arm.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    body = arm.worldbody
    for k, name in enumerate(robot.joints):
        placement, axis = model.jointPlacements[k + 1].homogeneous, np.eye(3)[2]
        body = body.add_body(name=f"link{k + 1}", pos=placement[:3, 3], quat=quaternion(placement))
        weigh(body, robot.inertials[k])
        joint = body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
        joint.damping = [damping[k], 0.0, 0.0]  # linear
        joint.frictionloss = friction[k]
        joint.solref_friction = [2 * PERIOD, 1.0]  # as hard as dry friction can be at this step
        motor = arm.add_actuator(name=f"motor{k + 1}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.gainprm[0] = 1.0
        arm.add_sensor(
            name=f"encoder{k + 1}",
            type=mujoco.mjtSensor.mjSENS_JOINTPOS,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            objname=name,
        )
    weigh(body.add_body(name="payload"), payload)
    return arm


def quaternion(T: np.ndarray) -> np.ndarray:
    """(w, x, y, z)"""
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(T[:3, :3]).ravel())
    return out


def weigh(body: mujoco.MjsBody, pi: np.ndarray) -> None:
    """Give a body ten parameters."""
    m, c = pi[0], pi[1:4] / pi[0]
    I = np.array([[pi[4], pi[5], pi[7]], [pi[5], pi[6], pi[8]], [pi[7], pi[8], pi[9]]])
    I = I - m * (c @ c * np.eye(3) - np.outer(c, c))
    body.explicitinertial, body.mass, body.ipos = True, m, c
    body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]


def recording(robot: Articulated) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (S,), torques (S, 7) and states (S, 14) of a motion that a controller keeps near sines."""
    model = spec(robot, PAYLOAD, DAMPING, FRICTION).compile()
    data, steps = mujoco.MjData(model), round(SECONDS / PERIOD)
    omega = 2 * np.pi * np.linspace(0.35, 1.1, 7)
    amplitude = np.array([0.9, 0.5, 0.8, 0.5, 0.9, 0.7, 1.2])
    x, torques, needed = np.empty((steps + 1, 14)), np.zeros((steps + 1, 7)), np.empty(7)
    data.qpos[:] = HOME
    data.qvel[:] = amplitude * omega * 0.5
    for k in range(steps + 1):
        x[k] = [*data.qpos, *data.qvel]
        t = k * PERIOD
        wanted, speed = HOME + amplitude * np.sin(omega * t), amplitude * omega * np.cos(omega * t)
        acceleration = 225 * (wanted - data.qpos) + 30 * (speed - data.qvel) - omega**2 * (wanted - HOME)
        mujoco.mj_forward(model, data)
        mujoco.mj_mulM(model, data, needed, acceleration)
        torques[k] = needed + data.qfrc_bias
        data.ctrl[:] = torques[k]
        mujoco.mj_step(model, data)
    return PERIOD * np.arange(steps + 1), torques, x


def first_states(robot: Articulated, x: np.ndarray, parts: int) -> np.ndarray:
    """(parts, _) MuJoCo's state at the beginning of each part."""
    from mujoco import sysid

    model = spec(robot, GUESS, *TYPICAL).compile()
    return np.array(
        [sysid.create_initial_state(model, each[:7], each[7:]) for each in x[: -1 : (len(x) - 1) // parts]]
    )


# ----------------------------------------------------------------------------------------------------------------- ours


def smoothed(encoders: np.ndarray) -> np.ndarray:
    """(S, 14) positions and speeds."""
    return np.concatenate(
        [savgol_filter(encoders, 51, 4, deriv=d, delta=PERIOD, axis=0) for d in (0, 1)], axis=1
    )


def estimate(
    robot: Articulated, times: np.ndarray, torques: np.ndarray, encoders: np.ndarray
) -> dict[str, float]:
    """Mass of the payload [kg], from encoders and torques alone."""
    names = [f"{kind}{k}" for kind in ("fv", "fc") for k in robot.joint_numbers]
    start = np.concatenate(TYPICAL)
    inertials = robot.inertials.copy()
    inertials[-1] += GUESS
    parameters = OpenParameters(
        robot,
        robot.bodies[-1:],
        joints=tuple(names),
        nominal=dict(zip(names, start, strict=True)),
        inertials=inertials,
        dry_speed=DRY_SPEED,
    )
    reading = Readings(JointPosition(robot, ENCODER), encoders)
    schedule = ContactSchedule((), np.zeros((len(times), 0), dtype=bool))
    noise = np.repeat([0.0, NOISE], 7)
    motion = RobotTrajectoryModel(parameters, schedule, times, torques, (reading,), noise)
    x = smoothed(encoders)
    motion.noise_std[np.abs(x[:-1, 7:]) < SLOW] = TURNING
    theta = parameters.nominal_theta
    problem = ShootingProblem((motion,), (GaussianPrior.flat(x[0]),), GaussianPrior.flat(theta))
    guess = Trajectories((x,), (np.zeros((len(times) - 1, 7)),), theta)
    found = DDP(max_iterations=ITERATIONS, longest=1.0).solve(problem, guess)
    mass = float(parameters.values(found.theta).bodies[0, 0] - robot.inertials[-1, 0])
    friction = np.abs(found.theta[10:] - np.concatenate([DAMPING, FRICTION]))
    return {
        "mass": mass,
        "iterations": found.iterations,
        "damping_error": float(friction[:7].max()),
        "friction_error": float(friction[7:].max()),
    }


if __name__ == "__main__":
    main()
