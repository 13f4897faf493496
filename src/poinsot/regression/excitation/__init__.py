"""The motion that makes a recording worth having: designed before the robot moves.

`problem` says what to excite within which `limits`, `design` is the method: a `search` over a `trajectory` for the best
`criterion` under `constraints`, which a `checkpoint` keeps; `excitation` is the result.
"""
