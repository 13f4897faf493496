"""Planar bodies that hit walls: identification from tracked poses (Gabiccini et al. 2019).

problem      `ImpactsProblem`: recordings -> drops, outline, walls, all checked; parts of an estimate of them
method       `ImpactIdentification`
prediction   the motion of an identified body from its first flight

One drop, simulated through all of its impacts:

shooting     least squares by simulation from event to event; mixture of all minima that explain frames about as well
drop         the search for the minimum, its result, and the certificate

In space:

space        `space.problem`, `space.method`: tosses of a body with corners, as flights joined by impacts

Many drops, as flights joined by impacts with impulses of their own:

flights      division of frames into flights, states at both ends by a Kalman filter, noise of the tracker, rests
collisions   the shared parameters, each declared once; residuals of an impact, and of a body at rest
pool         the weighted least-squares problem: linearization, elimination, tolerances, minimization
pooled       which impacts are used, the search for the minimum, its result, certificate, and consistency of drops
"""
