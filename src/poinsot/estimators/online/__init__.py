"""Estimators that run inside a control loop: the mass properties of a few links, sample by sample (seed 004).

belief                    what a filter believes, a sample, and what became of it
filter                    the interface: init, predict, update, run
kalman, extended          on the ten parameters, and on a chart of bodies that can be
gating                    which samples to believe
square_root               the update on a root of the covariance
"""
