"""Trajectory and parameters together, by multiple shooting on the chain in time (seed 001, Sects. IV and V).

problem, manifold         what a recording asks of the solver: nodes, their derivatives, arrival cost, priors
robot                     a robot in and out of contact as such a recording
lq                        the linear-quadratic problem of one iteration, as plain arrays
riccati                   policy and value along the chain, with columns for theta
arrival                   where all chains begin: arrival states and theta, with what nothing sees
lq_solution               backward, arrival, forward: solution and covariance of a linear-quadratic problem
constrained               the same with equality constraints at the nodes
local                     the problem around a guess: cost, gaps, and its linear-quadratic problem
rollout                   how a step is tried: single shooting, feasibility-driven, multiple shooting
direction                 the step from a guess, and its promise
ddp                       the iteration: merit, damping, acceptance, endings, certificate
posterior                 covariance of theta and of every state
estimation                recordings and what is known -> an `Estimate`
first_guess               where the iteration begins: what sensors read, without dynamics
known_parameters          quantities known beforehand, mapped to theta
motion_report             a solution's path, contact forces, and sensors beside it
unseen                    directions that nothing sees, in words
"""
