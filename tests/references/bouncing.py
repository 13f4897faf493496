"""Drops of a square on a floor that gives way, which the reproduction has too."""

from poinsot_reproductions.impacts.bouncing_square import SIDE, Throws

__all__ = ["SIDE", "Throws"]
