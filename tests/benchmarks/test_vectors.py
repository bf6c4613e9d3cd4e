import torch

from benchmarks.encoders.vectors import vectors


def test_tokens_that_share_texts_are_neighbours() -> None:
    draw = torch.Generator().manual_seed(0)
    topics = torch.randint(2, (200,), generator=draw)
    blocks = 1 + 10 * topics[:, None] + torch.randint(10, (200, 12), generator=draw)
    blocks[:, 0] = 0  # a special token beside everything
    found = vectors(blocks.tolist(), [0], 22, 4)
    assert found.shape == (22, 4)
    assert found.dtype == torch.float32
    assert not found[0].any()
    assert not found[21].any()
    torch.testing.assert_close(found[1:21].norm(dim=1), torch.ones(20))
    near = found[1:21] @ found[1:21].T
    same = torch.arange(20)[:, None] // 10 == torch.arange(20) // 10
    assert near[same].min() > near[~same].max()
