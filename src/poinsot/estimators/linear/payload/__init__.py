"""What a link carries, and what drives' gains are, from recordings with a load and without it.

identification     directly: one regression on both
  output_error       where gains are unknown: the equation solved for the current
  equation_error     the same with the current as a regressor, to be compared with
  drive_gains        what is known of gains
  possible           of loads, the best that can be
  moments, draws     how sure it is: blocks of motion resampled
  values             what ten parameters say about a load
  notes, certificate what there is to say besides, and whether it is the optimum
difference         by subtraction of what is found without the load from what is found with it
"""
