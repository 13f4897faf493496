"""Robots: a tree of bodies and joints with drives, couplings and loops, and the terms of its dynamics.

articulated               robots read by Pinocchio: bodies, joints, drives, friction
tree, torque_regressor    the same as plain arrays, and the regressor over a whole recording
motors                    motors that a description names
drive                     gears, couplings, rotors
open_parameters           which parameters of a robot are theta: bodies in a chart, joints, gains; bodies of estimates
actuation, joint_terms    from commands to forces; rotors, friction, efforts and drag, with their slopes
motion_terms, joint_motion, inverse_dynamics, frame_motion
                          mass matrices, frames and their slopes, inverses
configuration_space       q [+] d and q [-] p, joint by joint, with slopes
robot_states              states on their manifold, steps in time
loops, closure            closed kinematic chains
collisions                distances between links, to the floor and to walls
"""
