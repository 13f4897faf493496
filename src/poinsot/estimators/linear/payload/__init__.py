"""The load of a link, and the drives' gains, from recordings with the load and without it.

`identification` regresses on both, with unknown gains by `output_error`, for the best `possible` load; `moments` and
`draws` compute its uncertainty. `difference` subtracts two estimates.
"""
