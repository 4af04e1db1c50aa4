"""Paper-reviewer matching: P@5 and P@10, soft and hard, by the rules of SciRepEval, CoF, UniPR and OpenReview."""

from eval.reviewers.ranking import Ranked, rank_reviewers
from products.reviewers.rules import MATCHINGS, Matching

__all__ = ["MATCHINGS", "Matching", "Ranked", "rank_reviewers"]
