"""Model x signals -> linear system.

regressor                 tau = W(q, v, a) theta: bodies, rotors, couplings, friction
base_parameters           combinations that W can determine, and their names; rows folded into a factor
inverse_dynamics          the problem: rows streamed from signals
dynamics                  torque, mass matrix and gravity from identified parameters
"""
