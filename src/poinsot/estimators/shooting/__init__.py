"""Trajectory and parameters together, by multiple shooting in time (Martinez et al. 2024, Sects. IV and V).

estimation                problem and method: recordings and priors -> an `Estimate`
robot_log                 a recording of a robot, made ready: sensors, commands, contacts, noise
known_parameters          priors of physical quantities, mapped to theta
first_guess               initial guess of the states from the readings, without dynamics
problem                   what the solver needs of a recording: nodes, their derivatives, arrival cost, priors
robot                     a robot in and out of contact as such a recording
ddp                       the iteration: merit, damping, acceptance, certificate
direction                 linearization at a guess, search direction, predicted change of the cost
rollout                   single shooting, feasibility-driven, multiple shooting
local                     cost and gaps of a guess, and its linear-quadratic problem
riccati                   policy and value along the chain, with columns for theta
arrival                   arrival states and theta, at which all chains begin, and their unobservable directions
posterior                 covariance of theta and of every state
motion_report             path of a solution, contact forces, measured against predicted readings
summary                   the estimate of a solution
"""
