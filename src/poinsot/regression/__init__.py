"""Model x signals -> linear system.

regressor                 tau = W(q, v, a) theta: bodies, rotors, couplings, friction
base_parameters           what W can determine, and what each combination stands for; rows folded into a factor
inverse_dynamics          the problem: rows streamed from signals
dynamics                  torque, mass matrix and gravity of identified parameters
"""
