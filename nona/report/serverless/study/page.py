"""The study's figures over load as Markdown, for its document."""

from __future__ import annotations

from nona.report.markdown import between_marks, markdown_table
from nona.report.serverless.over.slides import claim_text, gap_rows, study_knee_rows
from nona.report.serverless.study.rows import claim_rows
from nona.report.serverless.study.text import provenance, title
from nona.results.serverless.study import ServerlessStudy


def study_page(data: ServerlessStudy) -> str:
    """The finding, knees, ESG's leads by load, and the claims with their verdicts."""
    claims = [
        {"slides": r["slides"], "found": r["found"], "order": r["order"], "size": r["size"]}
        for r in claim_rows(data)
    ]
    return "\n\n".join(
        [
            f"{title(data)}. {claim_text(data)}",
            "Until which factor on a setting's load each policy keeps 99 % of the SLOs:",
            markdown_table(study_knee_rows(data)),
            "ESG's lead over the other policies by load, in percentage points:",
            markdown_table(gap_rows(data)),
            "The claims of the slides in their three settings:",
            markdown_table(claims),
            f"Source: `{provenance(data)}`.",
        ]
    )


def with_sentence(page: str, data: ServerlessStudy) -> str:
    """The page with the one sentence on use between its two marks, in the middle of a paragraph."""
    return between_marks(page, claim_text(data), "")


def with_study(page: str, data: ServerlessStudy) -> str:
    """The page with the figures between its two marks replaced by those of ``data``."""
    return between_marks(page, study_page(data))
