"""The motion that makes a recording worth having: designed before the robot moves.

limits        what it must keep within
problem       `excitation_problem`: which parameters of which robot it is to show
trajectory    Fourier series and quintic splines from rest to rest
criterion     condition number and determinant of the information, with gradients
terms         regressor and torques of a motion, and how they change with it
constraints   limits and clearances as inequalities
design        `OptimalExcitation`: the optimization
excitation    `Excitation`: the result, and how well it will determine each parameter
checkpoint    a search in a file, to go on with later
"""
