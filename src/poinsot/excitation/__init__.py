"""Optimal excitation: informative motions, designed before the robot moves.

`problem` has the parameters to excite and the `limits`, `design` is the method: a `search` over a `trajectory` for the
best `criterion` within these limits, whose state a checkpoint keeps; `excitation` is the result.
"""
