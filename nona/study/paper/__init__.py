"""The evaluation of the paper on Nona as a reproducible study: ``nona study paper``.

Five models on 80 servers, background traffic and background work swept until no scheduler is left;
the rates, the GPUs and the link are ours, as those of the paper are not public. What stands in the paper
and what is ours is described in ``docs/paper-evaluation.md``.
"""

from nona.study.paper.run import PaperProgress, PaperSettings, paper_study

__all__ = ["PaperProgress", "PaperSettings", "paper_study"]
