"""The load of a link, and the drives' gains, from recordings with the load and without it.

identification     directly: one regression on both
  output_error       where gains are unknown: the equation solved for the current
  equation_error     the same with the current as a regressor, to be compared with
  drive_gains        known gains, and whether unknown ones are identifiable
  possible           the physically possible load that fits best
  moments, draws     uncertainty: blocks of motion resampled; the check of optimality
  values             mass, centre and inertia of a load from its ten parameters, notes and warnings
difference         by subtraction of the estimate without the load from the one with it
"""
