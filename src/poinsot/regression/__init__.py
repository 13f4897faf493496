"""Model x signals -> linear system.

regressor                 tau = W(q, v, a) theta: bodies, rotors, couplings, friction
base_parameters           what W can determine, and what each combination stands for
inverse_dynamics          the problem: rows streamed from signals
triangular                rows folded into a factor
dynamics                  torque, mass matrix and gravity of identified parameters
"""
