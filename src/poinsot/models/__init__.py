"""What a mechanism does; never imports an estimator.

articulated               robots: bodies, joints, drives, friction, read by Pinocchio
tree, primitive_joints, torque_regressor
                          the same as plain arrays, and the regressor over a whole recording
drive, friction           gears, couplings, rotors; friction laws
"""
