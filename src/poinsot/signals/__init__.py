"""Recording -> Signals: q, v, a and tau on one uniform clock, with standard deviations.

resampling, alignment     a uniform clock, channels without delay
bandwidth                 filter cutoffs from the spectrum of the motion
butterworth               smoothing with a known bandwidth
random_walk               smoothing without one: the smoother, random_walk_smoother with the ratio by maximum likelihood
decimation                low-pass filter and down-sampling of regressor columns and efforts alike
"""
