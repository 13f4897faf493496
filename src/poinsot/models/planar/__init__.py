"""Planar rigid bodies that strike walls with friction (Gabiccini et al. 2019).

shapes       outlines of bodies: ellipse, circle, polygon, smooth convex curve
walls        what a body may strike
contact      gaps, contact points and the directions in which impulses act, with exact derivatives
lemke        linear complementarity, compiled
impulses     impulses at closed contacts: restitution and Coulomb friction
stepping     motion in steps, with its energies: impulse-restitution and impulse-gap complementarity
events       motion from impact to impact, with exact flights

A pose is q = (x, y, theta) of the center of mass [m], [m], [rad], a velocity v = (v_x, v_y, omega), y is up.
"""

from .shapes import Circle, Ellipse, Polygon, Shape, SmoothCurve, rectangle
from .stepping import Motion, PlanarBody, simulate
from .walls import Wall, floor

__all__ = [
    "Shape",
    "Circle",
    "Ellipse",
    "Polygon",
    "SmoothCurve",
    "rectangle",
    "Wall",
    "floor",
    "PlanarBody",
    "Motion",
    "simulate",
]
