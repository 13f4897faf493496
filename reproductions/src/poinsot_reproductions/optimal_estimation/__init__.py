"""Martinez, Griffin and Mastalli (2024): state and inertia together, in motion in and out of contact.

systems             robots, motions and readings of their sensors
guesses             initial guesses
parametrizations    Fig. 3: both charts, from bodies that are 70 % off
rollouts            Table I: single shooting, feasibility-driven, multiple shooting
sphere              the singularity of a chart at equal principal moments
arm                 an unknown object in the gripper of a legged robot
statistics          errors against the covariance of the estimate, over many recordings
jump                a quadruped jumps and is localized, beside a Kalman filter; go1_jump, localization
loops               mechanisms with closed loops: a five-bar, a leg whose tarsus is turned by a rod
moving_horizon      the payload is put on in mid-walk, and weighed sample by sample; horizon
go1_payload         Figs. 4 and 5: a quadruped walks with an unknown payload; go1_walk, robot_sensors, weighing
sensor_errors       the same walk with a biased, misaligned and late inertial unit, whose errors are estimated
payload_statistics  many such walks: coverage of intervals, and schedules of contacts that are wrong
brachiation         a humanoid swings along monkey bars with an unknown payload; maneuvers
backflip            a humanoid turns over backward with an unknown backpack

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from ..case import PartedCase, measured_in, simulated_in

FLIGHTS = (
    *(f"{flight}_34p7g_{what}.parquet" for flight in ("circle", "figure8") for what in ("mocap", "onboard")),
    "thrust_stand.csv",
)

OPTIMAL_ESTIMATION = PartedCase(
    "optimal-estimation",
    "Multi-contact inertial estimation and localization in legged robots",
    {
        "parametrizations": simulated_in(__name__, "parametrizations"),
        "rollouts": simulated_in(__name__, "rollouts"),
        "sphere": simulated_in(__name__, "sphere"),
        "arm": simulated_in(__name__, "arm"),
        "brachiation": simulated_in(__name__, "brachiation"),
        "backflip": simulated_in(__name__, "backflip"),
        "statistics": simulated_in(__name__, "statistics"),
        "go1-payload": simulated_in(__name__, "go1_payload"),
        "sensor-errors": simulated_in(__name__, "sensor_errors"),
        "payload-statistics": simulated_in(__name__, "payload_statistics"),
        "jump": simulated_in(__name__, "jump"),
        "loops": simulated_in(__name__, "loops"),
        "moving-horizon": simulated_in(__name__, "moving_horizon"),
        "crazyflie": measured_in(__name__, "crazyflie", FLIGHTS),
    },
)
