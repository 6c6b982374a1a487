"""What may stand inside those arguments of vLLM that are mappings.

A list of what passes, as that of the arguments themselves: a key that imports a module, reads or
writes a file, or changes a size that checks and memory plan read from the checkpoint is not on it.
Source: `vllm/config/` and `engine/arg_utils.py` of vLLM 0.25.1 to 0.33.0, checked 2026-11-30.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Inside:
    plain: str = ""
    """Keys of numbers, switches, words, and lists of them."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Keys whose text is one of these; `""` stands for the empty text."""
    blocks: Mapping[str, "Inside"] = field(default_factory=dict)
    """Keys of further mappings."""
    takes_any: bool = False
    """Whether other keys pass too: they are variables, and name nothing that is loaded."""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(sorted({*self.plain.split(), *self.words, *self.blocks}))


_ROPE = Inside(
    plain="rope_type type factor rope_theta original_max_position_embeddings "
    "max_position_embeddings attention_factor mscale mscale_all_dim beta_fast beta_slow "
    "short_factor long_factor low_freq_factor high_freq_factor partial_rotary_factor truncate "
    "mrope_section mrope_interleaved"
)
_LENGTH = "max_position_embeddings original_max_position_embeddings rope_theta rotary_pct"
_STRETCH = {"rope_scaling": _ROPE, "rope_parameters": _ROPE}
_ANY = Inside(takes_any=True)
_SIZE = Inside(plain="count width height num_frames length")

INSIDE: Mapping[str, Inside] = MappingProxyType(
    {
        "attention-config": Inside(
            plain="backend flash_attn_version use_prefill_decode_attention "
            "flash_attn_max_num_splits_for_cuda_graph tq_max_kv_splits_for_cuda_graph "
            "use_cudnn_prefill use_trtllm_ragged_deepseek_prefill use_trtllm_attention "
            "disable_flashinfer_prefill disable_flashinfer_q_quantization "
            "use_prefill_query_quantization mla_prefill_backend use_fp4_indexer_cache "
            "use_non_causal"
        ),
        "compilation-config": Inside(
            plain="mode custom_ops splitting_ops compile_mm_encoder cudagraph_mode "
            "cudagraph_capture_sizes max_cudagraph_capture_size cudagraph_num_of_warmups "
            "cudagraph_copy_inputs cudagraph_specialize_lora cudagraph_mm_encoder compile_sizes "
            "compile_ranges_split_points compile_ranges_endpoints use_inductor_graph_partition "
            "fast_moe_cold_start",
            words={"backend": '"" inductor eager', "compile_cache_save_format": "binary unpacked"},
            blocks={
                "pass_config": Inside(
                    plain="fuse_norm_quant fuse_act_quant fuse_attn_quant eliminate_noops "
                    "enable_sp sp_min_token_num fuse_gemm_comms fuse_allreduce_rms "
                    "fuse_act_padding fuse_rope_kvcache fi_allreduce_fusion_max_size_mb "
                    "enable_qk_norm_rope_fusion"
                ),
                "dynamic_shapes_config": Inside(
                    plain="evaluate_guards assume_32_bit_indexing",
                    words={"type": "backed unbacked backed_size_oblivious"},
                ),
            },
        ),
        "default-chat-template-kwargs": _ANY,
        "diffusion-config": Inside(plain="canvas_length max_denoising_steps"),
        "engram-config": Inside(
            plain="cpu_offload embedding_across_dp dp_shared_memory use_thp"
        ),
        "eplb-config": Inside(
            plain="window_size step_interval num_redundant_experts log_balancedness "
            "log_balancedness_interval use_async communicator",
            words={"policy": "default"},
        ),
        "hf-overrides": Inside(
            plain=f"{_LENGTH} is_matryoshka matryoshka_dimensions problem_type bos_token_id "
            "eos_token_id pad_token_id",
            blocks={
                **_STRETCH,
                "text_config": Inside(plain=_LENGTH, blocks=_STRETCH),
                "id2label": _ANY,
                "label2id": _ANY,
            },
        ),
        "ir-op-priority": Inside(plain="rms_norm fused_add_rms_norm"),
        "kernel-config": Inside(
            plain="enable_flashinfer_autotune moe_backend linear_backend",
            blocks={"ir_op_priority": Inside(plain="rms_norm fused_add_rms_norm")},
        ),
        "limit-mm-per-prompt": Inside(
            plain="image video audio vision_chunk",
            blocks={"image": _SIZE, "video": _SIZE, "audio": _SIZE},
        ),
        "media-io-kwargs": Inside(
            blocks={
                "image": Inside(plain="image_mode rgba_background_color"),
                "video": Inside(
                    plain="num_frames fps max_frames max_duration frame_recovery",
                    words={"video_backend": "opencv opencv_dynamic pyav torchcodec"},
                ),
                "audio": Inside(plain="sampling_rate"),
            }
        ),
        "mm-processor-kwargs": Inside(
            plain="min_pixels max_pixels max_dynamic_patch min_dynamic_patch dynamic_image_size "
            "use_thumbnail num_crops do_resize do_rescale do_normalize do_pan_and_scan "
            "do_image_splitting do_center_crop crop_size size_divisor patch_size "
            "pan_and_scan_min_crop_size pan_and_scan_max_num_crops "
            "pan_and_scan_min_ratio_to_activate fps num_frames do_sample_frames max_image_tiles "
            "max_soft_tokens image_seq_length image_token video_token audio_token sampling_rate",
            blocks={
                "size": Inside(
                    plain="height width shortest_edge longest_edge max_height max_width"
                )
            },
        ),
        "override-generation-config": Inside(
            plain="temperature top_p top_k min_p typical_p repetition_penalty presence_penalty "
            "frequency_penalty max_new_tokens max_tokens min_new_tokens min_tokens do_sample seed "
            "bos_token_id eos_token_id pad_token_id stop_token_ids"
        ),
        "pooler-config": Inside(
            plain="task pooling_type seq_pooling_type tok_pooling_type use_activation normalize "
            "activation softmax dimensions enable_chunked_processing max_embed_len logit_mean "
            "logit_sigma logit_bias logit_scale step_tag_id returned_token_ids"
        ),
        "reasoning-config": Inside(
            plain="reasoning_parser reasoning_start_str reasoning_end_str"
        ),
        "structured-outputs-config": Inside(
            plain="disable_fallback disable_any_whitespace disable_additional_properties "
            "reasoning_parser enable_in_reasoning",
            words={"backend": "auto xgrammar guidance outlines lm-format-enforcer"},
        ),
        "watchdog-config": Inside(plain="timeout check_interval"),
    }
)  # fmt: skip
"""Argument -> what its mapping may hold."""
