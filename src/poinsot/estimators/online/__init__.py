"""Estimators for control loops, one sample at a time: masses of links (Foster et al. 2024), legged odometry.

problem                          `TrackingProblem`: recordings of a robot with open links, on one clock
ticks                            recordings or streams as ticks of the robot
moving_polynomial                ticks to samples with accelerations
calibration                      noise, and a constant bias, before a filter runs
belief                           tick, sample, belief and innovation: the values of a filter
filter                           the interface: init, predict, update, run, and solve over a problem
kalman                           filters on the ten parameters, and on a chart of possible bodies
gating                           rejection of improbable samples
correction, square_root          the compiled update, on a root of the covariance
attribution                      a bank of filters: which link changed
observability                    mass properties that the last seconds determine
publishing                       rate limit of published bodies
tracking                         a run as an estimate
leg_odometry                     pose and velocity of a legged robot: a filter, and recordings for it
"""
