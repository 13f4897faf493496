"""Planar rigid bodies that strike walls with friction (Gabiccini et al. 2019).

shapes       outlines of bodies: ellipse, polygon, smooth convex curve
body         the moving body and walls: gaps, contact points and the directions in which impulses act
impulses     impulses at closed contacts: restitution and Coulomb friction
events       motion from impact to impact, with exact flights
drop         frames of a tracked body

A pose is q = (x, y, theta) of the center of mass [m], [m], [rad], a velocity v = (v_x, v_y, omega), y is up.
"""

from .body import PlanarBody as PlanarBody, Wall as Wall, floor as floor
from .shapes import (
    Ellipse as Ellipse,
    Polygon as Polygon,
    Shape as Shape,
    SmoothCurve as SmoothCurve,
    rectangle as rectangle,
)
