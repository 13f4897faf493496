"""Planar bodies that strike walls: what they are, and how they moved, from tracked poses (seed 003).

problem            what is asked: drops, a body, walls
checks             what a drop must be for anything to follow from it
noise              of the tracker, before anything is known

One drop, simulated through all of its impacts:

program            poses, impulses, J/m and friction as a nonlinear program with complementarity (CasADi)
shooting           the same by simulation from event to event
posterior          minima that are nearly as deep as the deepest, and intervals of all
drop               the first to start, the second to finish, and when to distrust it
identifiability    what impacts and known forces say of m and J
estimation         as an estimate

Many drops, as flights joined by impacts with impulses of their own:

segmentation       which frames are flights
flights            what a flight's frames say of its ends
collisions         what an impact's two flights must have in common
chain              all of it as one least-squares problem, drop by drop
unevenness         how far a wall is from straight
resting            where drops came to rest
pooled             solves it
result             what comes of it
agreement          bootstrap, halves, held-out drops, assumptions
pooled_estimation  as an estimate

Nothing is imported here: one drop needs CasADi, many do not.
"""
