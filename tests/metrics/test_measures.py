"""Names of measures: those of ir_measures and of ranx, and what is refused."""

from __future__ import annotations

import pytest

from harness.metrics.measures import Measure
from harness.types import HarnessError

NAMED = [
    # as ir_measures, ranx or trec_eval has it, the score's name, as papers print it
    ("nDCG@10", "ndcg_10", "nDCG@10"),
    ("NDCG", "ndcg", "nDCG"),
    ("ndcg@10", "ndcg_10", "nDCG@10"),
    ("ndcg_cut_10", "ndcg_10", "nDCG@10"),
    ("RR", "mrr", "MRR"),
    ("MRR@10", "mrr_10", "MRR@10"),
    ("recip_rank", "mrr", "MRR"),
    ("AP", "map", "MAP"),
    ("MAP@100", "map_100", "MAP@100"),
    ("R@100", "recall_100", "Recall@100"),
    ("recall", "recall", "Recall"),
    ("P@10", "precision_10", "P@10"),
    ("P_5", "precision_5", "P@5"),
    ("P(rel=2)@10", "precision_10_rel2", "P@10 (grade 2 and above)"),
    ("precision@10-l2", "precision_10_rel2", "P@10 (grade 2 and above)"),
    ("map-l3", "map_rel3", "MAP (grade 3 and above)"),
    ("Success@10", "success_10", "Success@10"),
    ("hit_rate@5", "success_5", "Success@5"),
    ("Rprec", "rprec", "R-precision"),
    ("r-precision", "rprec", "R-precision"),
    ("Judged@10", "judged_10", "Judged@10"),
]


@pytest.mark.parametrize(("name", "score", "title"), NAMED)
def test_names(name: str, score: str, title: str) -> None:
    measure = Measure.named(name)
    assert (measure.score, measure.title) == (score, title)
    assert Measure.named(score.replace("_rel2", "-l2").replace("_rel3", "-l3")) == measure


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDGC@10", "has 'nDGC@10', which is not known (did you mean 'ndcg'?); expected nDCG@10, P@10, R@100"),
        ("ERR@20", "has 'ERR@20', which is not known"),
        ("nDCG@ten", "has 'nDCG@ten', which is not known; expected"),
        ("P@0", "has 'P@0', which looks at none; expected @1 or more"),
        ("nDCG(rel=2)@10", "expected no least grade for nDCG, which looks at all grades"),
        ("Rprec@10", "expected Rprec, which looks at as many documents as are relevant"),
    ],
)
def test_what_is_no_measure(name: str, message: str) -> None:
    with pytest.raises(HarnessError) as error:
        Measure.named(name)
    assert message in str(error.value)
