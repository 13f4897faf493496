"""Planar rigid bodies that strike walls with friction (Gabiccini et al. 2019).

shapes       outlines of bodies: ellipse, polygon, smooth convex curve
walls        walls that a body may strike
contact      gaps, contact points and the directions in which impulses act, with exact derivatives
impulses     impulses at closed contacts: restitution and Coulomb friction
body         the moving body: mass, inertia, friction, restitution, drag
events       motion from impact to impact, with exact flights

A pose is q = (x, y, theta) of the center of mass [m], [m], [rad], a velocity v = (v_x, v_y, omega), y is up.
"""

from .body import PlanarBody as PlanarBody
from .contact import Wall as Wall, floor as floor
from .shapes import (
    Ellipse as Ellipse,
    Polygon as Polygon,
    Shape as Shape,
    SmoothCurve as SmoothCurve,
    rectangle as rectangle,
)
