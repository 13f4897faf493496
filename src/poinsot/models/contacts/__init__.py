"""Contacts of a robot: where it touches the world, the constraints there, and when they hold.

contacts          points, balls and surfaces, and schedules of contacts
contact_dynamics  accelerations and contact forces, impacts, with slopes by state, effort and theta
"""
