"""What a rigid body may be.

parameters                the ten numbers: their parts, frames, several bodies, consistency with reasons
ellipsoid                 the uniform ellipsoid that has them
parametrization           coordinates without bounds for the bodies that can be, and three charts:
                            log_cholesky, transposed_log_cholesky, exponential_eigenvalue
divergence                how far one body is from another
"""
