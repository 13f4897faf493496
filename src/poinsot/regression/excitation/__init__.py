"""The motion that makes a recording worth having: designed before the robot moves.

limits        of positions, speeds, accelerations and torques
problem       `excitation_problem`: the parameters to excite, and the robot
trajectory    Fourier series and quintic splines from rest to rest
criterion     condition number and determinant of the information, with gradients
constraints   limits and clearances as inequalities
design        `OptimalExcitation`: the optimization
excitation    `Excitation`: the result, and how well it will determine each parameter
checkpoint    a search in a file, to go on with later
"""
