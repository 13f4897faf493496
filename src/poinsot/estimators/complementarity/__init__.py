"""Planar bodies that strike walls: what their motion, and the impulses on it, say about them (seed 003)."""
