"""Recording -> Signals: q, v, a and tau on one uniform clock, and how well each is known.

resampling, alignment     a uniform clock, channels without delay
bandwidth                 which cutoff the excitation calls for
butterworth               smoothing with a known bandwidth
random_walk               smoothing without: the smoother, noise_variance_ratio, random_walk_smoother
decimation                what regressor columns and efforts still have to pass, alike
"""
