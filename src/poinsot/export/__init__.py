"""Estimate -> the robot's own description, edited where it stands.

xml_text               XML of which spans change and all else stays
description            the interface of formats: inertia and joint terms, link by link
urdf  mjcf             the two formats
reading                a file of either
export_robot           an estimate's bodies and friction into the file that its robot came from
  bodies_to_links        which link gets what of a body
  joint_terms            damping, friction and rotor inertia of joints
reload_check           whether what was written is what was meant
differences            old against new, number by number
repair_description     links that no real body is, and the nearest possible ones
"""

from .differences import Change, compare_descriptions
from .export_robot import Export, export_robot, prepare_export
from .repair_description import LinkVerdict, Repair, repair, repair_json

__all__ = [
    "Change",
    "Export",
    "LinkVerdict",
    "Repair",
    "compare_descriptions",
    "export_robot",
    "prepare_export",
    "repair",
    "repair_json",
]
