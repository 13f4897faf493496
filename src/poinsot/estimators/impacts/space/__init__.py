"""Bodies that are tossed in space and strike a plane: identification from tracked poses.

problem   `TossesProblem`: recordings -> tosses, corners of the body, the plane
flights   division of frames into flights
kernels   residuals of flights and impacts, and their derivatives
pool      the weighted least-squares problem of all tosses
fitting   which impacts count, tolerances, laws of restitution
method    `TossIdentification`, and its estimate
"""
