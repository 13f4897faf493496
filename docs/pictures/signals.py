"""From positions to accelerations: what filters pass, what they cost, and how a cutoff is chosen."""

import sys
from functools import cache

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, GREEN, GREY, ORANGE, PURPLE, RED, axes, picture, thinned
from scipy import signal

import poinsot
from poinsot.signals.bandwidth import ratio_for_cutoff, welch
from poinsot.signals.random_walk_smoother import differentiate

sys.path.insert(0, str(EXAMPLES / "arm"))
import record

from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    simulate_recording,
)


@cache
def simulated(position_std=0.0):
    """The arm's truth, and a recording of it: time, q, v, a, recording."""
    rng = np.random.default_rng(4)
    motion = fourier_motion(3, 10.0, 250.0, rng, amplitude=0.8)
    sensors = Sensors(position_std=position_std, torque_std=0.3, position_step=0 if position_std else 2e-3)
    return *motion, simulate_recording(record.robot(), record.truth(), motion, sensors, rng)


@picture
def filter_gains():
    rate, cutoff = 250.0, 20.0
    f = np.geomspace(0.5, 120, 300)
    figure, (left, right) = axes(1, 2, 2.9)
    for order, colour in ((2, BLUE), (4, ORANGE), (8, GREEN)):
        _, H = signal.sosfreqz(signal.butter(order, cutoff, fs=rate, output="sos"), f, fs=rate)
        left.loglog(f, np.abs(H) ** 2, color=colour, label=f"Butterworth of order {order}, both ways")
    impulse = np.zeros((2001, 1))
    impulse[1000] = 1.0
    for order, colour in ((2, PURPLE), (3, RED)):
        found = differentiate(impulse, rate, order=order, nvr=ratio_for_cutoff(cutoff, rate, order))
        gain = np.abs(np.fft.rfft(found.a[:, 0])) / (2 * np.pi * np.fft.rfftfreq(2001, 1 / rate) + 1e-9) ** 2
        left.loglog(
            np.fft.rfftfreq(2001, 1 / rate)[4:],
            gain[4:],
            color=colour,
            label=f"random walk of order {order}, acceleration",
        )
    left.set_ylim(1e-5, 2)
    left.set_xlim(0.5, 120)
    left.set_title("gain of the filters (cutoff 20 Hz)", loc="left")
    left.legend(fontsize=6)
    for k, hz in enumerate((5.0, 10.0, 20.0, 40.0)):
        _, H = signal.sosfreqz(signal.butter(4, hz, fs=rate, output="sos"), f, fs=rate)
        right.loglog(f, (2 * np.pi * f) ** 2 * np.abs(H) ** 2, color=COLOURS[k], label=f"cutoff_hz = {hz:g}")
    right.loglog(f, (2 * np.pi * f) ** 2, "--", color=GREY, label="no filter")
    right.set_title("what becomes of noise in accelerations", loc="left")
    right.set_ylim(1, 1e6)
    right.legend(fontsize=7)
    for ax in (left, right):
        ax.set_xlabel("frequency [Hz]")
    return figure


@picture
def proposed_bandwidth():
    *_, recording = simulated()
    proposal = poinsot.propose_filters(recording)
    figure, ax = axes(height=2.8)
    rate = recording.rate_hz
    for k, joint in enumerate(record.robot().joints):
        x = np.diff(recording[f"position.{joint}"]) * rate
        S = welch(x, rate, len(x) // 3)
        f = np.arange(len(S)) * rate / (2 * (len(S) - 1))
        ax.loglog(*thinned(f[1:], S[1:]), color=COLOURS[k], label=joint, lw=0.9)
    for value, label, colour in (
        (proposal.bandwidth_hz, "w_dyn: 99.9 % of the motion is below", GREY),
        (proposal.noise_hz, "w_e: noise dominates above", RED),
        (proposal.cutoff_hz, "cutoff_hz", GREEN),
        (proposal.decimate_hz, "decimate_hz", ORANGE),
    ):
        ax.axvline(value, color=colour, ls="--", label=f"{label}: {value:.3g} Hz")
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel("spectrum of velocity\n[(rad/s)²/Hz]")
    ax.legend(fontsize=7, loc="lower left")
    return figure


@picture
def accelerations():
    time, _, _, a, recording = simulated()
    q = recording["position.elbow"]
    rate = recording.rate_hz
    smoothed = poinsot.ButterworthDecimation(20, 10).apply(recording)
    figure, axs = axes(2, 1, 3.6, sharex=True)
    window = (time > 4) & (time < 5)
    axs[0].plot(
        time[window],
        np.gradient(np.gradient(q, 1 / rate), 1 / rate)[window],
        color=RED,
        lw=0.7,
        label="differences of the positions",
    )
    axs[0].plot(time[window], a[window, 2], color=GREEN, label="truth")
    inside = (smoothed.time > 4) & (smoothed.time < 5)
    axs[1].plot(
        smoothed.time[inside],
        smoothed.a[inside, 2],
        color=BLUE,
        label="Butterworth of 20 Hz, then differences",
    )
    axs[1].plot(time[window], a[window, 2], "--", color=GREEN, label="truth")
    for ax in axs:
        ax.set_ylabel("acceleration\n[rad/s²]")
        ax.legend(fontsize=7, loc="lower left")
    axs[1].set_xlabel("time [s]; an encoder of 2 mrad at 250 Hz")
    return figure


@picture
def cutoff_sweep():
    *_, recording = simulated(1e-3)
    held_out = _another(1e-3)
    robot = record.robot()
    cutoffs = np.array([3.0, 4, 6, 8, 12, 16, 24, 40, 60, 90])
    fitted, predicted, inertia = [], [], []
    truth = None
    for hz in cutoffs:
        filters = poinsot.ButterworthDecimation(hz, min(10, 0.7 * hz), decimation_order=4)
        problem = poinsot.InverseDynamics(robot, [recording], signals=filters)
        estimate = poinsot.LeastSquares("per-joint").solve(problem)
        truth = problem.base.map @ record.truth()
        fitted.append(estimate.fit.relative_error_percent)
        predicted.append(estimate.predict(filters.apply(held_out)).relative_error_percent)
        k = estimate.names.index("zz3r")
        inertia.append(estimate.values[k] / truth[k])
    proposal = poinsot.propose_filters(recording)
    figure, (left, right) = axes(1, 2, 2.7)
    left.semilogx(cutoffs, fitted, "o-", ms=3, label="fitted")
    left.semilogx(cutoffs, predicted, "o-", ms=3, label="held out")
    left.set_ylabel("relative error [%]")
    left.set_ylim(0)
    right.semilogx(cutoffs, inertia, "o-", ms=3, color=GREEN)
    right.axhline(1, color=GREY, ls="--")
    right.set_ylabel("zz3r over its true value")
    for ax in (left, right):
        ax.axvline(proposal.cutoff_hz, color=RED, ls="--", label="proposed")
        ax.set_xlabel("cutoff_hz")
    left.legend(fontsize=7)
    return figure


def _another(position_std):
    rng = np.random.default_rng(5)
    motion = fourier_motion(3, 10.0, 250.0, rng, amplitude=0.8)
    sensors = Sensors(position_std=position_std, torque_std=0.3)
    return simulate_recording(record.robot(), record.truth(), motion, sensors, rng)


@picture
def decimation():
    """The Chebyshev filter before every M-th row is kept, and what would be folded back without it."""
    rate, decimate_hz = 250.0, 10.0
    M = int(0.8 * rate / 2 / decimate_hz)
    figure, ax = axes(height=2.4)
    f = np.linspace(0.1, 60, 500)
    for order, colour in ((8, BLUE), (4, ORANGE)):
        sos = signal.cheby1(order, 0.05, decimate_hz, fs=rate, output="sos")
        _, H = signal.sosfreqz(sos, f, fs=rate)
        ax.plot(
            f,
            20 * np.log10(np.abs(H) ** 2 + 1e-12),
            color=colour,
            label=f"decimation_order = {order}, both ways",
        )
    ax.axvline(
        rate / M / 2, color=RED, ls="--", label=f"half of the new rate, {rate / M / 2:.1f} Hz (M = {M})"
    )
    ax.set_ylim(-120, 5)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel("gain [dB]")
    ax.legend(fontsize=7)
    return figure
