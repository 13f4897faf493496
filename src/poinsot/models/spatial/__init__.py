"""Rigid bodies that are tossed in space and strike a plane with friction.

shapes       convex bodies as balls at the corners of a polyhedron: box, points, mesh
plane        what they strike
flights      free motion: a parabola, and Euler's equations
impacts      impulses at one corner: Coulomb friction, and restitution by Newton, Poisson or Stronge

Quantities are by mass: inertia J/m [m^2], impulses [m/s]. Positions are of the center of mass, R turns vectors of the
body's frame to those of the world, w is the angular velocity in the body's frame.
"""

from .plane import Plane as Plane
from .shapes import Corners as Corners, box as box, corners_of as corners_of, mesh as mesh
