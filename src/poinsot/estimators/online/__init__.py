"""Estimators that run inside a control loop: the mass properties of a few links, sample by sample (seed 004).

belief                    what a filter believes, a sample, and what became of it
differences, moving_polynomial      from measurements to samples with accelerations
calibration               noise, and a constant bias, before a filter runs
filter                    the interface: init, predict, update, run
kalman, extended          on the ten parameters, and on a chart of bodies that can be
gating                    which samples to believe
correction, square_root   one sample against a belief, on a root of the covariance
composite                 a filter that the error of a controller's task moves as well
attribution               a bank of filters: which link changed
observability             what the last seconds showed
publishing                what a controller is told
tracking                  a whole run as an estimate
"""
