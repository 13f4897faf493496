"""Models of mechanisms; never import an estimator.

articulated               robots: bodies, joints, drives, friction, read by Pinocchio
tree, torque_regressor    the same as plain arrays, and the regressor over a whole recording
drive, friction           gears, couplings, rotors; friction laws
open_parameters           which parameters of a robot are theta: bodies in a chart, joints, gains; bodies of estimates
actuation, joint_terms    from commands to forces; rotors, friction, efforts and drag, with their slopes
contacts                  where a robot touches the world, the constraints there, and when they hold
contact_dynamics          accelerations and contact forces, impacts, with slopes by state, effort and theta
motion_terms, joint_motion, inverse_dynamics, frame_motion, rotations
                          their parts: mass matrices, frames and their slopes, Log, inverses
configuration_space       q [+] d and q [-] p, joint by joint, with slopes
robot_states, stages      states on their manifold, steps in time, a recording as a chain of them
sensors                   predicted readings h(x; theta), residuals and their slopes
maximal                   mechanisms in maximal coordinates and discrete time, with dry friction (JAX)
"""
