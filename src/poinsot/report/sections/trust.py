"""First on the page: may these numbers be used, and if not, why and what now?"""

from __future__ import annotations

from ...estimate import Estimate, Trust
from ..blocks import Findings, PageBlock, Section
from ..tables import table_of_rows

LEADS = {
    Trust.trusted: "No check found anything wrong: the numbers hold within their intervals.",
    Trust.with_care: "Some numbers are less certain than their intervals say.",
    Trust.corrected: "A defect of the data was found, and its effect removed.",
    Trust.not_to_be_used: "Do not use these numbers before the errors below are mended.",
}


def trust_section(estimate: Estimate) -> Section | None:
    """What the checks found, and what they could not look at; None where nobody has written checks for the method."""
    diagnosis = estimate.diagnosis
    if not diagnosis.complete and not diagnosis.findings:
        return None
    blocks: list[PageBlock] = []
    if diagnosis.findings:
        said = tuple((each.severity.name, str(each)) for each in diagnosis.findings)
        blocks.append(Findings(findings=said))
    if diagnosis.unchecked:
        rows = [{"not checked": each.what, "why": each.reason} for each in diagnosis.unchecked]
        blocks.append(table_of_rows(rows))
    title = diagnosis.trust.words
    return Section(f"{title[:1].upper()}{title[1:]}", LEADS[diagnosis.trust], tuple(blocks))
