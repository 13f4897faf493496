"""Write estimates into the robot's description by editing its text.

xml_text               XML that is edited in place: only the changed spans differ
description            the interface of formats: inertia and joint terms, link by link
urdf  mjcf             the two formats
reading                a file of either
export_robot           an estimate's bodies and friction into the file that its robot came from
differences            old and new values, number by number
repair_description     physically impossible links, and the nearest possible ones
"""
