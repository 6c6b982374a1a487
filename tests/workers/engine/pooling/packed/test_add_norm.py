"""Parts that add and norm at once give what their classes give."""

import pytest
import torch
import transformers

from workers.engine.pooling.packed.add_norm import add_norm_plainly, take_add_norm

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("family", ["Bert", "Camembert", "Electra", "Roberta", "XLMRoberta"])
def test_a_model_comes_to_the_same(family: str) -> None:
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32, pad_token_id=0,
    )  # fmt: skip
    model = getattr(transformers, f"{family}Model")(config).eval()
    for each in model.modules():
        if isinstance(each, torch.nn.LayerNorm):
            torch.nn.init.normal_(each.weight)
            torch.nn.init.normal_(each.bias)
    request = torch.randint(3, 50, (2, 9))
    with torch.inference_mode():
        before = model(request).last_hidden_state
        assert take_add_norm(model, add_norm_plainly) == 2 * 2
        torch.testing.assert_close(model(request).last_hidden_state, before)


def test_a_model_of_another_make_is_left_alone() -> None:
    config = transformers.DistilBertConfig(
        vocab_size=50, dim=16, hidden_dim=32, n_heads=2, n_layers=1
    )
    assert take_add_norm(transformers.DistilBertModel(config), add_norm_plainly) == 0
