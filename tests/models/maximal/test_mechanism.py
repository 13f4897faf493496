import numpy as np
import pytest

from models.maximal import mechanisms
from poinsot.exceptions import ImpossibleBody, InvalidModel
from poinsot.models.maximal import (
    Coulomb,
    Encoder,
    Hinge,
    LoadDependent,
    Mechanism,
    Motor,
    PlaneContact,
    RigidBody,
    Slider,
)

BODY = RigidBody("bob", 1.0, (0.1, 0.1, 0.1))


def test_every_number_has_a_name_a_unit_and_a_place():
    mechanism = mechanisms.everything()
    theta = mechanism.values.flat()
    places = [mechanism.place(name) for name in mechanism.entries]
    assert len(set(places)) == len(places) == len(mechanism.entries)
    units = {name: entry.unit for name, entry in mechanism.entries.items()}
    assert units["hand.Jxy"] == "kg m^2"
    assert units["rail.drag"] == "N s/m"
    assert units["wrist.drag"] == "N m s/rad"
    assert units["rail.coulomb"] == "N"
    assert units["wrist.friction"] == ""
    assert units["rail.shaft_inertia"] == "kg"
    # Theta has places that no name leads to: what a joint has not (a fixed one no drag), held at zero or without effect
    nameless = set(range(len(theta))) - set(places)
    structure = mechanism.structure
    assert mechanism.values.place("drag", 0) in nameless
    assert structure.inputs if hasattr(structure, "inputs") else mechanism.inputs == ("wrist", "rail")


def test_theta_changes_what_it_names_and_nothing_else():
    from models.maximal.test_impulses import evaluated

    mechanism = mechanisms.everything()
    model = mechanism.model(["hand.Jyz", "rail.gain", "world.tilt_y"])
    np.testing.assert_array_equal(model.theta, [3e-3, 1.5, 0.0])
    assert model.units == ("kg m^2", "N/unit", "rad")
    np.testing.assert_array_equal(model.lower, [-np.inf] * 3)
    np.testing.assert_array_equal(mechanism.model(["hand.Jyy", "rail.drag"]).lower, [0.0, 0.0])
    values = evaluated(model.values, np.array([7.0, 8.0, 9.0]))
    base = mechanism.values
    assert values.inertia[1, 4] == 7.0
    assert values.gain[2] == 8.0
    assert values.tilt[1] == 9.0
    assert sum((np.asarray(a) != np.asarray(b)).sum() for a, b in zip(values, base, strict=True)) == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RigidBody("bob", -1.0, (1, 1, 1)), "mass of body 'bob' must be above 0 kg, not -1"),
        (lambda: RigidBody("bob", 1.0, (1, 1)), "three numbers or a symmetric"),
        (lambda: RigidBody("bob", 1.0, (1, 1, 0)), "inertia above 0 about every axis"),
        (
            lambda: Hinge("h", "world", "bob", compliance=-1e-8),
            "compliance of joint 'h' must be above 0, not -1e-08",
        ),
        (lambda: Hinge("h", "world", "bob", rotation_compliance=0.0), "rotation compliance of joint 'h'"),
        (lambda: Hinge("h", "world", "bob", relaxation=-1.0), "relaxation time of joint 'h'"),
        (lambda: Hinge("h", "world", "bob", drag=-1.0), "drag of joint 'h' must be at least 0"),
        (lambda: Hinge("h", "world", "bob", axis=(0, 0, 0)), "axis of joint 'h' is 0 0 0"),
        (
            lambda: Hinge("h", "world", "bob", child_point=(0, 0, 0.1)),
            "'h' does not close: .* are 0.1 m apart",
        ),
        (lambda: Hinge("h", "bob", "bob"), "joins 'bob' to itself"),
        (lambda: Coulomb(-1.0), "level of dry friction must be at least 0, not -1"),
        (lambda: LoadDependent(0.1, 0.0), "a radius above 0"),
        (lambda: Motor(np.nan), "finite gain"),
        (lambda: PlaneContact("c", "bob", (0, 0, 0), friction=-0.1), "friction of contact 'c'"),
        (lambda: Mechanism([]), "at least one body"),
        (lambda: Mechanism([BODY, BODY]), "2 things called 'bob'"),
        (lambda: Mechanism([BODY], [Hinge("h", "world", "bab")]), "'h' names body 'bab'; did you mean 'bob'"),
        (
            lambda: Mechanism([BODY], [Hinge("h", "world", "bob")], sensors=[Encoder("g")]),
            "reads joint 'g'.* has h",
        ),
        (
            lambda: Mechanism([BODY], [Slider("s", "world", "bob")], sensors=[Encoder("s", sine=0.1)]),
            "a slider, which has no eccentricity",
        ),
        (lambda: Mechanism([BODY], gravity=(0, 0)), "gravity needs three"),
    ],
)
def test_what_is_no_mechanism(make, words, unchecked):
    with pytest.raises(InvalidModel, match=words):
        make()


def test_a_body_that_cannot_be():
    with pytest.raises(ImpossibleBody, match="bob"):
        RigidBody("bob", 1.0, (1.0, 1.0, 3.0))
