"""Trajectory and parameters together, by multiple shooting in time (Martinez et al. 2024, Sects. IV and V).

`estimation` has problem and method. `recordings`, `known_parameters` and `first_guess` turn recordings and priors into
the models of `robot`, which `problem` gives to the solver. `ddp` iterates, and gives the covariance at the end:
`direction` linearizes, `riccati` eliminates states and `arrival` theta, `rollout` steps. `refinements` changes the
problem by its solution, with `contact_events` and `noise_levels`. `summary` builds the estimate with its motions.
`moving_horizon` estimates over the last nodes, sample by sample.
"""
