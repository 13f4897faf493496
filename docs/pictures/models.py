"""What a mechanism does: friction laws, efforts of a joint, and the loads of a gripper."""

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, GREEN, GREY, ORANGE, axes, picture

import poinsot
from poinsot.models.maximal.values import friction_effort


@picture
def friction_laws():
    v = np.linspace(-2, 2, 401)
    figure, axs = axes(1, 3, 2.5)
    columns = poinsot.ViscousCoulomb().columns(v[:, None])[:, 0] * [0.5, 1.0, 0.2]
    for column, name in zip(columns.T, ("fv v", "fc sign(v)", "off"), strict=True):
        axs[0].plot(v, column, label=name)
    axs[0].plot(v, columns.sum(axis=1), color=GREY, ls="--", label="sum")
    axs[0].set_title("ViscousCoulomb", loc="left")
    for excess, decay, colour in ((0.0, 1.0, BLUE), (0.6, 4.0, ORANGE), (0.6, 40.0, GREEN)):
        axs[1].plot(
            v,
            friction_effort(v, np.array([0.1, 1.0, excess, decay])),
            color=colour,
            label=f"excess {excess}, decay {decay:g}",
        )
    axs[1].set_title("Coulomb of joint smoothing", loc="left")
    load = np.linspace(0, 3, 50)
    axs[2].plot(load, 0.3 + 0 * load, label="M1: constant")
    axs[2].plot(load, 0.3 + 0.2 * load, label="M3: grows with the load")
    axs[2].plot(
        load, 0.3 + 0.2 * load + (0.2 + 0.1 * load) * np.exp(-((0.05 / 0.1) ** 2)), label="M4: and with rest"
    )
    axs[2].set_title("servo, level against load", loc="left")
    for ax, label in zip(axs, ("speed [rad/s]", "speed [rad/s]", "torque on the gears [N m]"), strict=True):
        ax.set_xlabel(label)
        ax.legend(fontsize=6)
    axs[0].set_ylabel("effort [N m]")
    return figure


@picture
def counterbalance():
    """What the cylinder of examples/counterbalance takes from the motor: identified, against position."""
    cylinder = poinsot.Counterbalance(
        "joint_2", fixed=(-0.40, 0.0, -0.16), moving=(-0.12, 0.0, 0.24), degree=3
    )
    robot = poinsot.load_robot(EXAMPLES / "counterbalance" / "robot.urdf", efforts=[cylinder])
    placed = robot.placed_efforts[0]
    q = np.linspace(-1.2, 1.4, 200)
    columns = placed.columns(q, 0 * q, np.zeros((len(q), 0)))
    figure, ax = axes(height=2.4)
    for k, (column, parameter) in enumerate(zip(columns.T, placed.parameters, strict=True)):
        ax.plot(q, column, color=COLOURS[k], label=f"{parameter[0]}: (length / length at 0 - 1)^{k}")
    ax.set_xlabel("joint_2 [rad]")
    ax.set_ylabel("torque by 1 N of the force [N m/N]")
    ax.legend(fontsize=7)
    return figure


@picture
def ripple_and_spring():
    spring = poinsot.Spring("elbow", zero=0.3)
    ripple = poinsot.Ripple("elbow", harmonics=(6.0, 12.0))
    q = np.linspace(-np.pi, np.pi, 600)
    nothing = np.zeros((len(q), 0))
    figure, (left, right) = axes(1, 2, 2.2)
    left.plot(q, 2.0 * spring.columns(q, 0 * q, nothing)[:, 0], color=BLUE)
    left.set_title("Spring: ks (q - zero)", loc="left")
    right.plot(q, ripple.columns(q, 0 * q, nothing) @ [0.3, 0.1, 0.0, 0.15], color=ORANGE)
    right.set_title("Ripple: 6 and 12 cycles in a turn", loc="left")
    for ax in (left, right):
        ax.set_xlabel("position [rad]")
        ax.set_ylabel("torque [N m]")
    return figure


@picture
def payload_with_and_without():
    """A load found from two recordings of one motion, against its truth, by how much torque noise there is."""
    import sys

    sys.path.insert(0, str(EXAMPLES / "arm"))
    import record

    from poinsot_reproductions.simulated_recordings import Sensors, fourier_motion, simulate_recording

    robot, motion = record.robot(), fourier_motion(3, 10.0, 125.0, np.random.default_rng(3), amplitude=0.8)
    smoothing = poinsot.ButterworthDecimation(20, 10)
    noises = np.array([0.1, 0.3, 1.0, 3.0])
    found = []
    for noise in noises:
        rng = np.random.default_rng(5)
        sensors = Sensors(torque_std=noise, position_step=record.POSITION_STEP)
        runs = [
            simulate_recording(robot, theta, motion, sensors, rng)
            for theta in (record.truth(), record.loaded())
        ]
        empty, loaded = (smoothing.apply(run) for run in runs)
        bodies = []
        for signals in (empty, loaded):
            problem = poinsot.inverse_dynamics(robot, signals)
            bodies.append(poinsot.LeastSquares("per-joint").solve(problem))
        k = bodies[0].names.index("mx3")
        found.append(
            (bodies[1].values[k] - bodies[0].values[k], np.hypot(bodies[0].std[k], bodies[1].std[k]))
        )
    found = np.array(found)
    figure, ax = axes(height=2.4)
    ax.errorbar(
        noises, found[:, 0], yerr=1.96 * found[:, 1], fmt="o", ms=4, color=BLUE, capsize=2, label="difference"
    )
    ax.axhline(record.LOAD["mx3"], color=GREEN, ls="--", label="truth")
    ax.set_xscale("log")
    ax.set_xlabel("noise of the torques [N m]")
    ax.set_ylabel("first moment of the load [kg m]")
    ax.legend()
    return figure
