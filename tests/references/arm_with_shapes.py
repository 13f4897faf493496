"""An arm of three joints whose links have simple shapes, so that distances can be worked out by hand.

A column of radius 0.1 m carries an upper arm of 0.5 m and a forearm of 0.4 m, both along x at the neutral
configuration, with spheres of radius 0.05 m at shoulder height (0.6 m), elbow and hand.
"""

SPHERE = '<collision><origin xyz="{x} 0 0"/><geometry><sphere radius="0.05"/></geometry></collision>'

AT_ELBOW, AT_HAND = SPHERE.format(x=0), SPHERE.format(x=0.4)


def _link(name, mass, reach, shapes):
    inertia = mass * reach**2 / 12
    return f"""<link name="{name}">
  <inertial><origin xyz="{reach / 2} 0.01 0.02"/><mass value="{mass}"/>
    <inertia ixx="{0.2 * inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{1.1 * inertia}"/></inertial>
  {shapes}</link>"""


def _joint(name, parent, child, xyz, axis, limit):
    return f"""<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="{xyz}"/><axis xyz="{axis}"/>{limit}</joint>"""


LIMIT = '<limit lower="-2.5" upper="2.5" velocity="2" effort="60"/>'
COLUMN = (
    '<collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>'
)


def description(upper_arm=AT_ELBOW, limit=LIMIT, hand=AT_HAND):
    """URDF as text; the hand's frame is at the end of the forearm."""
    return f"""<?xml version="1.0"?>
<robot name="arm with shapes">
<link name="base">{COLUMN}</link>
{_joint("yaw", "base", "turret", "0 0 0.6", "0 0 1", limit)}
{_link("turret", 3.0, 0.1, "")}
{_joint("shoulder", "turret", "upper_arm", "0 0 0", "0 1 0", limit)}
{_link("upper_arm", 2.0, 0.5, upper_arm)}
{_joint("elbow", "upper_arm", "forearm", "0.5 0 0", "0 1 0", limit)}
{_link("forearm", 1.0, 0.4, AT_ELBOW + hand)}
<joint name="wrist" type="fixed"><parent link="forearm"/><child link="hand"/><origin xyz="0.4 0 0"/></joint>
<link name="hand"/>
</robot>
"""


def write(folder, name="arm.urdf", **parts):
    """The path of its description."""
    path = folder / name
    path.write_text(description(**parts))
    return path
