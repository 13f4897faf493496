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
from .contact import Wall as Wall
from .contact import floor as floor
from .shapes import Ellipse as Ellipse
from .shapes import Polygon as Polygon
from .shapes import Shape as Shape
from .shapes import SmoothCurve as SmoothCurve
from .shapes import rectangle as rectangle
