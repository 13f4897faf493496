"""Planar bodies that hit walls: identification from tracked poses (Gabiccini et al. 2019).

problem            `ImpactsProblem`: drops, outline, walls, all checked; the result of one drop and its certificate
recordings         a recording -> a drop

One drop, simulated through all of its impacts:

program            poses, impulses, J/m and friction as a nonlinear program with complementarity (CasADi)
shooting           the same by simulation from event to event
posterior          mixture of all minima that explain the frames nearly as well as the deepest
drop               `DropIdentification`: the method
drop_estimate      the result as an estimate

Many drops, as flights joined by impacts with impulses of their own:

contact_parameters the shared parameters, each declared once; deviation of the wall from a line
segmentation       frames divided into flights
flights            drops; states at both ends of a flight by a Kalman filter; noise of the tracker
collisions         residuals of an impact
resting            residuals of a body at rest
chain              flights and impacts of all drops, and elimination of all unknowns but the shared parameters
admission          initial guess of impacts, and which of them are used
pooled_problem     the weighted least-squares problem: normal equations, tolerances, priors, minimization
pooled             `PooledImpacts`: the method
pooled_fit         its result, and the certificate
agreement          halves, held-out drops, assumptions
pooled_estimate    the result as an estimate

Nothing is imported here: one drop needs CasADi, many do not.
"""
