"""MkDocs hooks: the page API lists every public name of poinsot, and the page on trust every cause of a finding."""

import itertools

import poinsot


def on_page_markdown(markdown: str, page, **_) -> str:
    if page.file.src_uri == "concepts/trust.md":
        return markdown + _causes()
    if page.file.src_uri != "api.md":
        return markdown
    objects = [getattr(poinsot, name) for name in poinsot.__all__]
    entries = [(_stage(it), f"::: {it.__module__}.{it.__qualname__}") for it in objects if callable(it)]
    for stage, group in itertools.groupby(entries, key=lambda entry: entry[0]):
        markdown += "\n\n".join([f"\n## {stage}\n", *(directive for _, directive in group)]) + "\n"
    return markdown


def _causes() -> str:
    """A table of every cause: what it means, and what to do."""
    from poinsot.diagnosis import causes
    from poinsot.estimators.joint.examination import CAUSES

    rows = [f"| `{each.name}` | {each.means} | {each.advice} |" for each in (*causes(), *CAUSES)]
    return "\n".join(["", "| cause | what it means | what to do |", "|---|---|---|", *rows, ""])


def _stage(value) -> str:
    """`signals` for `poinsot.signals.butterworth`."""
    return value.__module__.split(".")[1].replace("_", " ").capitalize()
