"""Planar bodies that hit walls: identification from tracked poses (Gabiccini et al. 2019).

problem            `ImpactsProblem`: drops, outline, walls, all checked
recordings         a recording -> a drop
method             `ImpactIdentification`
estimate           a fit as an estimate

One drop, simulated through all of its impacts:

program            poses, impulses, J/m and friction as a nonlinear program with complementarity (CasADi)
shooting           the same by simulation from event to event
posterior          mixture of all minima that explain the frames nearly as well as the deepest
drop               the search for the minimum
drop_fit           its result, and the certificate

Many drops, as flights joined by impacts with impulses of their own:

contact_parameters the shared parameters, each declared once; deviation of the wall from a line
flights            states at both ends of a flight by a Kalman filter; noise of the tracker
segmentation       frames divided into flights
collisions         residuals of an impact, and of a body at rest
resting            bodies at rest in drops
pool               the weighted least-squares problem: linearization, elimination, tolerances, minimization
admission          initial guess of impacts, and which of them are used
pooled             the search for the minimum
pooled_fit         its result, and the certificate
agreement          halves, held-out drops, assumptions

prediction         the motion of an identified body from its first flight

Nothing is imported here: one drop needs CasADi, many do not.
"""
