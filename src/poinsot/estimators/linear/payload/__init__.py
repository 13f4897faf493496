"""The load of a link, and the drives' gains, from recordings with the load and without it.

`identification` regresses on both, with unknown gains by `output_error` (or `equation_error`, to be compared with), for
the best load that is `possible`; `moments` and `draws` say how uncertain it is. `difference` subtracts two estimates.
"""
