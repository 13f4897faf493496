"""What the data can and cannot see."""

from __future__ import annotations

from ...estimate import Direction, Estimate
from ..blocks import Block, Facts, Items, Section
from ..numbers import count_text, significant
from ..words import capitalized, number_of, series

REASONS = {
    "structural": (
        "No motion shows them",
        "Whatever the robot does, the efforts do not depend on these, or only on their sum: predictions lose nothing, "
        "and no better recording will help.",
    ),
    "unexcited": (
        "This recording does not show them",
        "Another motion would: move the joints concerned faster, further, or against gravity in other postures.",
    ),
}


def identifiability_section(estimate: Estimate) -> Section:
    """Condition numbers, then the undetermined combinations by reason."""
    unseen = [name for name, seen in zip(estimate.names, estimate.identifiable, strict=True) if not seen]
    blocks: list[Block] = [
        Facts(
            facts=(
                ("Condition number, as stacked", significant(estimate.condition_number, 3)),
                ("Condition number, columns of unit norm", significant(estimate.scaled_condition_number, 3)),
                ("Rows", count_text(estimate.rows)),
                ("Parameters", str(len(estimate.names))),
                *((("Not identifiable", series(unseen, 20)),) if unseen else ()),
            ),
            caption="The first number depends on units; the second says how nearly some parameters' effects "
            "cancel: 1 is perfect, some hundreds are usual, many thousands mean that errors are multiplied.",
        )
    ]
    reasons = list(dict.fromkeys((*REASONS, *(direction.reason for direction in estimate.undetermined))))
    for reason in reasons:
        directions = [direction for direction in estimate.undetermined if direction.reason == reason]
        if directions:
            blocks.append(_combinations(reason, directions))
    return Section("Identifiability", _lead(estimate, len(unseen)), tuple(blocks))


def _combinations(reason: str, directions: list[Direction]) -> Items:
    title, caption = REASONS.get(reason, (capitalized(reason), ""))
    return Items(
        title=title,
        caption=caption,
        items=tuple(direction.combination for direction in directions),
        code=True,
    )


def _lead(estimate: Estimate, unseen: int) -> str:
    unexcited = sum(direction.reason == "unexcited" for direction in estimate.undetermined)
    if unexcited or unseen:
        missing = number_of(unexcited or unseen, "combination" if unexcited else "parameter")
        return f"This recording leaves {missing} undetermined that a better motion would show."
    return "The recording determines everything that a motion of this robot can show."
