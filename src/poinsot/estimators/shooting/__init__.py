"""Trajectory and parameters together, by multiple shooting in time (Martinez et al. 2024, Sects. IV and V).

`estimation` has problem and method. `recordings`, `known_parameters` and `first_guess` turn recordings and priors into
the models of `robot`, which `problem` gives to the solver. `ddp` iterates: `local` linearizes, `riccati` eliminates
states and `arrival` theta, `direction` and `rollout` step. `refinements` changes the problem by its solution, with
`contact_events` and `noise_levels`. `posterior`, `motion_report` and `summary` build the estimate. `moving_horizon`
estimates over the last nodes, sample by sample.
"""
