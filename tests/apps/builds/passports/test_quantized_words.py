"""What became of the weights, in a line of the page."""

from typing import Any

from apps.builds.passports.passport import quantized_words
from controlplane.domain.passport import Passport

QUANTIZED = {
    "quantization_type": "int4_awq", "quant_algo": "W4A16_AWQ", "layers_quantized": 210,
    "kv_cache_dtype": "16-bit", "device": "CPU, 2 threads",
}  # fmt: skip


def words_of(quantization: dict[str, Any] | None) -> str:
    return quantized_words(Passport.model_validate({"quantization": quantization}))


def test_a_line_says_type_layers_cache_and_where_it_was_made() -> None:
    assert words_of(QUANTIZED) == (
        "int4_awq: W4A16_AWQ in 210 layers, KV cache 16-bit, on CPU, 2 threads"
    )


def test_integers_say_how_many_layers_kept_the_scales_of_awq() -> None:
    smoothed = QUANTIZED | {"smoothed": {"kept": 180, "left_out": 30}}
    words = words_of(smoothed)
    assert "210 layers (180 with activation-aware scales), KV cache" in words


def test_a_search_says_what_each_layer_got_and_the_bits_that_it_came_to() -> None:
    searched = QUANTIZED | {
        "layers_by_number": {"16-bit": 4, "FP4": 120, "FP8": 90}, "effective_bits": 6.485,
    }  # fmt: skip
    words = words_of(searched)
    told = "210 layers (searched: 4 in 16-bit, 120 in FP4, 90 in FP8; 6.485 bits a weight), KV"
    assert told in words


def test_an_encoder_names_the_layers_that_stay_in_16_bits_and_why() -> None:
    kept = {
        "layers": ["encoder.layer.0.output.dense"], "of_layers": 36, "rows": 128,
        "least_cosine": 0.995, "most_changed": 0.01,
        "all_quantized": {"least_cosine": 0.99577, "mean_cosine": 0.99741},
        "as_built": {"least_cosine": 0.99826, "mean_cosine": 0.99906},
    }  # fmt: skip
    words = words_of(QUANTIZED | {"kept_in_16_bits": kept})
    assert (
        "210 layers (1 more, which lost most, stay in 16 bits: encoder.layer.0.output.dense; least "
        "cosine 0.9958 with all quantized, 0.9983 so, at least 0.995 asked, on 128 samples), KV"
    ) in words
    changed = {"all_quantized": {"changed": 0.03}, "as_built": {"changed": 0.004}}
    words = words_of(QUANTIZED | {"kept_in_16_bits": kept | changed})
    assert "changed answers 0.0300 with all quantized, 0.0040 so, at most 0.01 asked" in words
    many = kept | {"layers": [f"layer.{n}" for n in range(34)]}
    words = words_of(QUANTIZED | {"kept_in_16_bits": many})
    assert "(34 more, " in words
    assert "layer.4, layer.5, 28 others; " in words
    none = kept | {"layers": []}
    assert "16 bits" not in words_of(QUANTIZED | {"kept_in_16_bits": none})


def test_nothing_is_said_where_nothing_was_quantized() -> None:
    assert words_of(None) == ""
