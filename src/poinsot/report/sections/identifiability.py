"""Which parameters and combinations the data determine, and which they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...estimate import Direction, Estimate
from ..blocks import Facts, Items, Section, section_of
from ..figures.correlation import correlation_grid
from ..numbers import count_text, significant
from ..words import capitalized, number_of, series

REASONS = {
    "structural": (
        "No motion excites them",
        "Efforts never depend on these, whatever the robot does: predictions do not need them, and no recording can "
        "determine them. Parameters that occur only in sums are under the groupings.",
    ),
    "unexcited": (
        "This recording does not excite them",
        "Another motion would: move the joints concerned faster, further, or against gravity in other postures.",
    ),
    "removed": (
        "Set to zero as not essential",
        "The recording excites these so little that predictions are as good without them. Their true values need not "
        "be zero: a more exciting motion may determine them.",
    ),
}
"""Title and caption for each reason of a direction."""


def identifiability_section(estimate: Estimate) -> Section:
    """Condition numbers, then undetermined parameters and combinations, by reason."""
    lost = [name for name, seen in zip(estimate.names, estimate.identifiable, strict=True) if not seen]
    facts = Facts(
        facts=(
            ("Condition number, as stacked", significant(estimate.condition_number, 3)),
            ("Condition number, columns of unit norm", significant(estimate.scaled_condition_number, 3)),
            ("Rows", count_text(estimate.rows)),
            ("Parameters", str(len(estimate.names))),
            *((("Not identifiable", series(lost, 20)),) if lost else ()),
        ),
        caption="The first number depends on units; the second measures how nearly the effects of some parameters "
        "cancel: 1 is ideal, some hundreds are usual, many thousands mean that errors are amplified.",
    )
    counts = Counter(direction.reason for direction in estimate.undetermined)
    # Combinations that no motion excites are no fault of the recording.
    missing = counts["unexcited"] or len(lost)
    noun = "combination" if counts["unexcited"] else "parameter"
    lead = (
        f"This recording leaves {number_of(missing, noun)} undetermined that a better motion would determine."
        if missing
        else "The recording determines everything that a motion of this robot can determine."
    )
    if counts["removed"]:
        lead += (
            f" {number_of(counts['removed'], 'parameter is', 'parameters are')} set to zero as not essential."
        )
    reasons = dict.fromkeys((*REASONS, *(direction.reason for direction in estimate.undetermined)))
    lists = (_combinations(reason, estimate.undetermined) for reason in reasons)
    return section_of("Identifiability", lead, facts, correlation_grid(estimate), *lists)


def _combinations(reason: str, undetermined: Sequence[Direction]) -> Items | None:
    """Single parameters in one line, each combination in its own; None where there are none for this reason."""
    title, caption = REASONS.get(reason, (capitalized(reason), ""))
    combinations = [direction.combination for direction in undetermined if direction.reason == reason]
    # A bare name is one parameter, anything else a sum.
    single = ", ".join(text for text in combinations if text.isidentifier())
    items = (*([single] if single else []), *(text for text in combinations if not text.isidentifier()))
    return Items(title=title, caption=caption, items=items, code=True) if items else None
