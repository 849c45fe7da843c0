"""Tiny random language models of several kinds, saved as transformers saves real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHAT = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}assistant :{% endif %}"
)


def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{i}" for i in range(60))]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.decoder = decoders.WordPiece(prefix="##")
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def make(kind: str, folder: Path, seed: int = 0) -> Path:
    """A folder with a model: `causal` (Llama), `seq2seq` (T5), or `absolute` (Bart: few positions, beams of its own)."""
    import torch
    import transformers

    torch.manual_seed(seed)
    special: dict[str, Any] = {"vocab_size": 64, "pad_token_id": 0, "eos_token_id": 2}
    model: Any
    if kind == "causal":
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                **special, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                bos_token_id=1, max_position_embeddings=128, initializer_range=0.4,
            )
        )  # fmt: skip
    elif kind == "seq2seq":
        model = transformers.T5ForConditionalGeneration(
            transformers.T5Config(
                **special, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=1,
                initializer_factor=8.0,
            )
        )  # fmt: skip
    else:
        model = transformers.BartForConditionalGeneration(
            transformers.BartConfig(
                **special, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=16,
                init_std=0.5, bos_token_id=1, decoder_start_token_id=1, forced_eos_token_id=2,
            )
        )  # fmt: skip
        model.generation_config.num_beams = 3
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
