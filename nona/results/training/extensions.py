"""What the switches of a training cluster did in one run."""

from __future__ import annotations

from nona.results.document import Document, Figure


class MoveAdvice(Document):
    """The planner on moving a job to another region at ``time_s``.

    ``rate`` and ``other_rate``: steps/s here and there; ``move_s`` g; ``horizon_s`` H, how long it would
    stay; ``gain_steps`` within H; ``least_stay_s`` H*: a longer stay pays; ``moved``: whether it went.
    """

    time_s: float
    job: str
    here: str
    there: str
    rate: float
    other_rate: float
    move_s: float
    horizon_s: float
    gain_steps: float
    least_stay_s: Figure
    moved: bool


class ExtensionFindings(Document):
    """One policy's first replication.

    Attributes
    ----------
    failures, restart_s, checkpoint_s, move_s
        Failures that struck jobs; their seconds on GPUs for restarts, checkpoints and moves.
    undone_share
        Steps that failures undid, over the steps done.
    answers, declined
        How often a policy answered; answers not followed because their moves cost more than they gain.
    claim_error_first, claim_error_last
        Mean |ln(believed rate / true rate)| at the first answer and the last one; ``None`` without claims.
    flagged
        Jobs whose claims rounds showed to be wrong.
    pair_error_first, pair_error_last
        Mean |estimated − true| / true of pair rates at the first answer and the last one that had pairs;
        ``None`` without an estimator.
    region_moves, advice
        Jobs that changed region; the planner's rows, latest last.
    """

    failures: int = 0
    restart_s: float = 0.0
    checkpoint_s: float = 0.0
    move_s: float = 0.0
    undone_share: Figure = None
    answers: int = 0
    declined: int = 0
    claim_error_first: Figure = None
    claim_error_last: Figure = None
    flagged: tuple[str, ...] = ()
    pair_error_first: Figure = None
    pair_error_last: Figure = None
    region_moves: int = 0
    advice: tuple[MoveAdvice, ...] = ()
