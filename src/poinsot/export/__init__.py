"""Write estimates for other programs: into the robot's description by editing its text, and as code.

xml_text               XML that is edited in place: only the changed spans differ
description            the interface of formats: inertia and joint terms, link by link
urdf  mjcf             the two formats
reading                a file of either
export_robot           an estimate's bodies and friction into the file that its robot came from
differences            old and new values, number by number
routines               the dynamics of a result as straight-line routines, from `expressions`, which fold what is known
c_source  python_source  ros2_package     these routines in a language, with their test or their package
repair_description     physically impossible links, and the nearest possible ones
"""
