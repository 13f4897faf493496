"""Provenance: processing of the data, settings, timings, versions, and citations."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import inf
from typing import Any

from ...estimate import Certificate, Estimate
from ...exceptions import InvalidMethod
from ..blocks import Cell, Facts, Items, Section, Verbatim, section_of
from ..numbers import count_text, seconds_text, significant
from ..tables import plain_text, table


def provenance_section(estimate: Estimate) -> Section:
    """Everything needed to repeat the estimation."""
    # Stages of another program may come without a total.
    total = estimate.seconds.get("total", sum(estimate.seconds.values()))
    took = f", in {seconds_text(total)}" if estimate.seconds else ""
    steps = Items(title="Processing of the data", items=estimate.steps, numbered=True)
    facts = [
        ("Method", estimate.method),
        ("Status", estimate.status.value),
        ("Rows", count_text(estimate.rows)),
        ("Iterations", str(estimate.iterations)),
        ("Standard deviations", f"for {estimate.std_kind} residuals"),
    ]
    settings = {key: value for key, value in estimate.settings.items() if not key.startswith("project")}
    file, text = (str(estimate.settings.get(f"project_{key}", "")) for key in ("file", "text"))
    longest = max(estimate.seconds.values(), default=0.0) or inf
    stages: list[dict[str, str | Cell]] = [
        {"Stage": stage, "Time": Cell(seconds_text(seconds), bar=seconds / longest)}
        for stage, seconds in estimate.seconds.items()
    ]
    with suppress(InvalidMethod):  # an estimate from a file has no problem
        facts += _certificate(estimate.certificate())
    return section_of(
        "How it was found",
        f"By {estimate.method}{took}.",
        steps if estimate.steps else None,
        Facts(title="Method", facts=tuple(facts)),
        Verbatim(title=f"Project file {file}", text=text, language="toml", folded=True) if text else None,
        _facts("Settings", settings),
        table(stages, title="Timings") if stages else None,
        _facts("Versions", estimate.versions),
        Verbatim(title="How to cite", text=estimate.references().strip()) if estimate.citations else None,
    )


def _certificate(certificate: Certificate) -> list[tuple[str, str]]:
    """Certificate recomputed from the problem; with constraints also primal and dual costs and their gap."""
    holds = "holds" if certificate.holds else "does not hold"
    constraints = "all constraints hold" if certificate.feasible else "a constraint is violated"
    primal, dual, gap = certificate.primal, certificate.dual, certificate.gap
    if primal is None or dual is None or gap is None:
        gradient = f"the gradient is {significant(certificate.stationarity, 2)} of its terms"
        return [("Certificate", f"{holds}: {gradient}, {constraints}")]
    return [
        ("Certificate", f"{holds}: no other solution has a much lower cost, {constraints}"),
        ("Cost (primal)", significant(primal, 8)),
        ("Lower bound of the cost (dual)", significant(dual, 8)),
        (
            "Duality gap",
            f"{significant(gap, 2)}; {significant(certificate.tolerance, 2)} of the cost is allowed",
        ),
    ]


def _facts(title: str, mapping: Mapping[str, Any]) -> Facts | None:
    facts = tuple((str(name).replace("_", " "), plain_text(value)) for name, value in mapping.items())
    return Facts(title=title, facts=facts) if facts else None
