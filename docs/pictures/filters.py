"""Filters that follow a load: examples/arm/track.toml, and the arm of docs/concepts/online.md."""

from functools import cache

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, FILES, GREEN, GREY, ORANGE, RED, axes, picture, thinned

import poinsot
from poinsot.inertia.parameters import pseudo_inertia

LOAD_KG, PICKED_UP_S = 1.5, 6.0


@cache
def tracked():
    return poinsot.track(poinsot.Project.load(EXAMPLES / "arm" / "track.toml"))


FILES["arm_track.html"] = lambda path: poinsot.write_report(tracked().estimate, path)


@picture
def tracked_mass():
    history = tracked().estimate.tracking.history
    time = np.array([each.time for each in history])
    mass = np.array([each.bodies[0, 0] for each in history])
    published = np.array([each.published[0, 0] for each in history])
    std = np.array([each.mass_std[0] for each in history])
    before = tracked().tracker.filter.torques.described[0, 0]
    figure, ax = axes(height=2.6)
    ax.fill_between(time, mass - 1.96 * std, mass + 1.96 * std, color=BLUE, alpha=0.2, lw=0, label="95 %")
    ax.plot(time, mass, color=BLUE, label="estimate")
    ax.plot(time, published, color=ORANGE, lw=1, label="published, at most 3 kg/s")
    ax.step(
        [time[0], PICKED_UP_S, time[-1]],
        [before, before + LOAD_KG, before + LOAD_KG],
        where="post",
        color=GREEN,
        ls="--",
        label="truth",
    )
    ax.set_xlabel("time [s]")
    ax.set_ylabel("mass of the forearm [kg]")
    ax.legend(fontsize=7)
    return figure


@picture
def gate():
    history = tracked().estimate.tracking.history
    time = np.array([each.time for each in history])
    square = np.array([each.innovation.square for each in history])
    verdicts = [each.innovation.verdict for each in history]
    figure, ax = axes(height=2.6)
    for verdict, colour in (
        (poinsot.SampleVerdict.accepted, BLUE),
        (poinsot.SampleVerdict.gated, RED),
        (poinsot.SampleVerdict.reopened, ORANGE),
    ):
        chosen = np.array([each is verdict for each in verdicts])
        ax.semilogy(time[chosen], square[chosen], "o", ms=3, color=colour, label=verdict.name)
    ax.axhline(history[0].innovation.threshold, color=GREY, ls="--", label="threshold of the gate")
    ax.set_xlabel("time [s]; the load is picked up at 6 s")
    ax.set_ylabel("squared innovation")
    ax.legend(fontsize=7)
    return figure


@cache
def _loop():
    """Samples of a robot that picks up 1.5 kg after 5 s, and its torque model (as in docs/concepts/online.md)."""
    robot = poinsot.load_robot(EXAMPLES / "arm" / "arm.urdf")
    torques = poinsot.LinkTorques(robot, ("forearm",))
    w = 2 * np.pi * np.array([0.3, 0.45, 0.65])
    load = LOAD_KG * np.array([1, 0, 0, -0.3, 0.09, 0, 0.09, 0, 0, 0])
    rng = np.random.default_rng(0)
    samples = []
    for time in np.arange(1200) / 100:
        state = np.sin(w * time), w * np.cos(w * time), -(w**2) * np.sin(w * time)
        Y, known = torques(*state)
        tau = known + Y @ (torques.described.ravel() + load * (time > 5)) + 0.3 * rng.standard_normal(3)
        samples.append(poinsot.Sample(time, *state, tau))
    return robot, torques, samples


@picture
def chart_and_ten_numbers():
    """The smallest eigenvalue of the pseudo-inertia along both filters, with a load of 3 kg: a slow motion shows
    its mass and first moment, and hardly its inertia.
    """
    _, torques, _ = _loop()
    load = 3.0 * np.array([1, 0.32, 0, 0, 0, 0, 0.1024, 0, 0, 0.1024])
    w = 2 * np.pi * np.array([0.03, 0.05, 0.08])
    rng = np.random.default_rng(2)
    samples = []
    for time in np.arange(300) / 50:
        state = 0.5 * np.sin(w * time), 0.5 * w * np.cos(w * time), -0.5 * w**2 * np.sin(w * time)
        Y, known = torques(*state)
        tau = known + Y @ (torques.described.ravel() + load) + 0.5 * rng.standard_normal(3)
        samples.append(poinsot.Sample(time, *state, tau))
    figure, (left, right) = axes(1, 2, 2.6)
    for kind, colour in ((poinsot.KalmanFilter, RED), (poinsot.ExtendedKalmanFilter, BLUE)):
        filter_ = kind(torques, 0.5, initial_std=0.5, drift=0.2, gate=None)
        belief, smallest, mass = filter_.init(), [], []
        for sample in samples:
            belief, _ = filter_.step(belief, sample)
            pi = filter_.inertial(belief.x)[0]
            smallest.append(np.linalg.eigvalsh(pseudo_inertia(pi))[0])
            mass.append(pi[0])
        time = [sample.time for sample in samples]
        left.plot(time, 1e3 * np.array(smallest), color=colour, label=kind.__name__)
        right.plot(time, mass, color=colour)
    left.axhline(0, color=GREY)
    left.axhspan(min(left.get_ylim()[0], -0.1), 0, color=RED, alpha=0.1, lw=0)
    left.set_ylabel("smallest eigenvalue of\nthe pseudo-inertia [1e-3]")
    right.axhline(torques.described[0, 0] + load[0], color=GREEN, ls="--", label="truth")
    right.set_ylabel("mass [kg]")
    for ax in (left, right):
        ax.set_xlabel("time [s]")
        ax.legend(fontsize=7)
    return figure


@picture
def which_link():
    robot, _, samples = _loop()
    links = ("column", "upper_arm", "forearm")
    bank = poinsot.LinkBank(robot, links, noise=0.6)
    belief, probabilities = bank.init(), []
    chosen = samples[450:600]
    for sample in chosen:
        belief, _ = bank.step(belief, sample)
        probabilities.append(belief.probabilities)
    figure, ax = axes(height=2.4)
    for k, name in enumerate((*links, "no change")):
        ax.plot(
            [s.time for s in chosen],
            np.array(probabilities)[:, k],
            color=COLOURS[k] if k < 3 else GREY,
            label=name,
        )
    ax.axvline(5, color=RED, ls="--", lw=0.8, label="the load is picked up")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("probability")
    ax.legend(fontsize=7)
    return figure


@picture
def covariance_at_rest():
    """Standard deviation of the mass while a robot works, rests a minute, and works again."""
    _, torques, samples = _loop()
    figure, ax = axes(height=2.4)
    filter_ = poinsot.ExtendedKalmanFilter(torques, 0.6, drift=0.05, gate=None)
    belief, times, stds = filter_.init(), [], []

    def noted(belief):
        J = filter_.jacobian(belief.x).reshape(10, 10)
        return np.sqrt((J @ belief.covariance @ J.T)[0, 0])

    still = samples[100]
    for k in range(300 + 600 + 300):
        if k < 300:
            sample, t = samples[k], k / 100
        elif k < 900:
            t = 3 + (k - 299) / 10
            zero = np.zeros(3)
            Y, known = torques(still.q, zero, zero)
            sample = poinsot.Sample(t, still.q, zero, zero, known + Y @ torques.described.ravel())
        else:
            moving = samples[k - 900]
            t = 63.1 + (k - 899) / 100
            sample = moving
        sample = poinsot.Sample(t, sample.q, sample.v, sample.a, sample.tau)
        belief, _ = filter_.step(belief, sample)
        times.append(t)
        stds.append(noted(belief))
    ax.semilogy(times, stds, color=BLUE)
    ax.axvspan(3, 63, color=GREY, alpha=0.15, lw=0, label="the robot stands still")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("std of the mass [kg]")
    ax.legend()
    return figure


@picture
def foot_walk():
    """Position of a walking robot by leg odometry: what the recordings of examples/quadruped give."""
    project = poinsot.Project.load(EXAMPLES / "quadruped" / "odometry.toml")
    estimate = poinsot.track(project).estimate
    fit = estimate.fit
    figure, axs = axes(1, 2, 2.6)
    for k, axis in enumerate("xyz"):
        axs[0].plot(
            *thinned(fit.time, 1e3 * fit.residuals[:, k]),
            ".",
            ms=3,
            color=COLOURS[k],
            label=f"{axis}, left front",
        )
    axs[0].set_xlabel("time [s]")
    axs[0].set_ylabel("foot, measured less predicted [mm]")
    axs[0].legend(fontsize=7)
    x = np.arange(len(estimate.names))
    axs[1].errorbar(
        estimate.values, x[::-1], xerr=1.96 * estimate.std, fmt="o", ms=3, elinewidth=1, capsize=2, color=BLUE
    )
    axs[1].set_yticks(x[::-1], estimate.names, fontsize=6)
    axs[1].set_xlabel("state at the end, 95 %")
    return figure
