"""Estimators for control loops, one sample at a time: masses of links (Foster et al. 2024), legged odometry.

problem              `TrackingProblem`: recordings or streams of a robot with open links as ticks; calibration
moving_polynomial    ticks to samples with accelerations
belief               tick, sample, belief and innovation: the values of a filter
filter               init, predict, update, run, solve; the gate; on the ten parameters, or on a chart of bodies
correction           the compiled step, on a root of the covariance
attribution          a bank of filters: which link changed
tracking             a run as an estimate; rate limit of published bodies; what the last seconds determine
leg_odometry         pose and velocity of a legged robot: a filter, and recordings for it
"""
