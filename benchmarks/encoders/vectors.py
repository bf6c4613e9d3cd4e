"""Word vectors from counts: the initial embeddings of an encoder, so that few texts are enough to train it.

Positive pointwise mutual information of tokens within ten places of each other, contexts to the power of 0.75, and its largest singular
vectors times the roots of the singular values (Levy, Goldberg & Dagan 2015, "Improving Distributional Similarity").
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

WINDOW, POWER = 10, 0.75


def vectors(blocks: Iterable[list[int]], special: list[int], vocabulary: int, width: int) -> Tensor:
    """Of blocks of equal length. [vocabulary, width] float32, rows of length 1; zeros for tokens that have no neighbours."""
    ids = np.array(list(blocks), dtype=np.int32)
    counts = sp.csr_matrix((vocabulary, vocabulary), dtype=np.float64)
    for distance in range(1, WINDOW + 1):
        left, right = ids[:, :-distance].ravel(), ids[:, distance:].ravel()
        kept = ~(np.isin(left, special) | np.isin(right, special))
        pairs = sp.coo_matrix((np.ones(kept.sum()), (left[kept], right[kept])), shape=counts.shape)
        counts = counts + pairs.tocsr()
    both = (counts + counts.T).tocoo()
    total = np.asarray(both.sum(1)).ravel()
    context = total**POWER / (total**POWER).sum()
    pmi = np.log(both.data / (total[both.row] * context[both.col]))
    positive = pmi > 0
    ppmi = sp.csr_matrix((pmi[positive], (both.row[positive], both.col[positive])), shape=counts.shape)
    u, s, _ = randomized_svd(ppmi, width, random_state=0)
    found = torch.from_numpy(u * np.sqrt(s) * (total > 0)[:, None]).float()
    return torch.nn.functional.normalize(found)
