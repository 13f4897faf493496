"""Trajectory and parameters together, by multiple shooting in time (Martinez et al. 2024, Sects. IV and V).

`estimation` has problem and method. `robot_log`, `known_parameters` and `first_guess` make of recordings and priors
what `problem` and `robot` show the solver. `ddp` iterates: `local` linearizes, `riccati` eliminates states and
`arrival` theta, `direction` and `rollout` step. `posterior`, `motion_report` and `summary` make the estimate.
`moving_horizon` does so with the last nodes, sample after sample.
"""
