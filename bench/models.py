"""Small transformers models with random weights, built from a config: nothing is downloaded."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

_VOCABULARY = 1000
_POSITIONS = 128
_BATCH_SHAPE = (2, 64)


def _llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=_VOCABULARY, max_position_embeddings=_POSITIONS, num_hidden_layers=4, hidden_size=256,
                    intermediate_size=688, num_attention_heads=8, num_key_value_heads=2))


def _gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=_VOCABULARY, n_positions=_POSITIONS, n_layer=4, n_embd=256, n_head=4, bos_token_id=1,
                   eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


MODELS = {"llama": _llama, "gpt2": _gpt2}


def build(name, device="cpu", dtype=torch.float32):
    """Returns (model in training mode, keyword arguments of one batch of 2 x 64 tokens)."""
    torch.manual_seed(1234)
    model = MODELS[name]().to(device=device, dtype=dtype)
    model.train()
    tokens = torch.randint(3, _VOCABULARY, _BATCH_SHAPE, generator=torch.Generator().manual_seed(1234)).to(device)
    return model, {"input_ids": tokens, "labels": tokens}
