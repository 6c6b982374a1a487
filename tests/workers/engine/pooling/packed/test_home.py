"""Outputs come home whole and in the order of their rows, through memory that is used again."""

import pytest
import torch

from workers.engine.pooling.packed import home as ways
from workers.engine.pooling.packed.home import Home

pytestmark = pytest.mark.engine


class _Event:
    """What a GPU would record; here every copy is over when it is begun."""

    def record(self) -> None: ...
    def synchronize(self) -> None: ...


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that were pinned: ordinary memory stands for it."""
    sizes: list[int] = []

    def pinned(size: int) -> torch.Tensor:
        sizes.append(size)
        return torch.empty(size, dtype=torch.uint8)

    monkeypatch.setattr(ways, "_pinned", pinned)
    monkeypatch.setattr(torch.cuda, "Event", _Event)
    return sizes


@pytest.mark.parametrize("is_pinned", [False, True])
def test_rows_of_one_shape_and_of_many_come_in_their_order(
    is_pinned: bool, made: list[int]
) -> None:
    home = Home(torch.device("cpu"))
    home._is_cuda = is_pinned
    one = [torch.tensor([[1.0, 1], [2, 2]]), torch.tensor([[3.0, 3]])]
    assert torch.stack(home.bring(one, [2, 0, 1])()).tolist() == [[2, 2], [3, 3], [1, 1]]
    many = [[torch.ones(3, 2), 2 * torch.ones(1, 2)], [3 * torch.ones(1, 2)]]
    outcome = home.bring(many, [1, 2, 0])()
    assert [each.shape[0] for each in outcome] == [1, 3, 1]
    assert [float(each[0, 0]) for each in outcome] == [3, 1, 2]


def test_what_was_not_fetched_is_not_written_over_and_memory_is_pinned_once(
    made: list[int],
) -> None:
    home = Home(torch.device("cpu"))
    home._is_cuda = True

    def forward(number: int) -> ways.Finish:
        sent = home.send(torch.full((4,), number))
        return home.bring([sent[None].double()], [0])

    waiting = forward(1)
    for number in range(2, 9):  # repeated row by row, as after a failure
        assert forward(number)()[0].tolist() == [number] * 4
    assert waiting()[0].tolist() == [1] * 4
    assert sorted(made) == [16, 16, 32, 32]
