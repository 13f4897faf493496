"""The loop that an estimate closes: a legged robot in MuJoCo, its state estimator, a filter, a whole-body controller.

legged_robot   Talos and Go1, ready to stand
loads          masses that change while it moves
gait           standing, stepping, walking
tasks          what the controller is asked for
whole_body     the controller: one quadratic program a tick
measurements   the state estimator, delayed and noisy, and samples for a filter
closed_loop    all of it in a loop
"""
