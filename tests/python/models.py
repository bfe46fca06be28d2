"""Small randomly initialised real models (transformers, no downloads), and one training step of them.

Sizes and seeds are those of the models whose dumps by the reference tool the tests compare with.
"""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers

NAMES = ("llama", "gpt2", "bert", "t5", "mixtral", "vit", "resnet", "llama_bf16")
_SEED = 1234


def _tokens(generator):
    return torch.randint(3, 1000, (2, 64), generator=generator)


def _language(model, tokens):
    return model, dict(input_ids=tokens, labels=tokens)


def build(name, dropout=0.0):
    """(model in training mode, keyword arguments of a call that gives a loss)."""
    torch.manual_seed(_SEED)
    generator = torch.Generator().manual_seed(_SEED)
    tokens = _tokens(generator)
    pixels = torch.randn(2, 3, 64, 64, generator=generator)
    labels = torch.randint(0, 10, (2,), generator=generator)
    kind = name.replace("_bf16", "")
    if kind == "llama":
        config = transformers.LlamaConfig(
            hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2,
            vocab_size=1000, max_position_embeddings=128, attention_dropout=dropout)
        model, batch = _language(transformers.LlamaForCausalLM(config), tokens)
    elif kind == "gpt2":
        config = transformers.GPT2Config(
            n_layer=4, n_embd=256, n_head=4, vocab_size=1000, n_positions=128, resid_pdrop=dropout, embd_pdrop=dropout,
            attn_pdrop=dropout, bos_token_id=1, eos_token_id=2)
        model, batch = _language(transformers.GPT2LMHeadModel(config), tokens)
    elif kind == "bert":
        config = transformers.BertConfig(
            hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024, vocab_size=1000,
            hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        model, batch = _language(transformers.BertForMaskedLM(config), tokens)
        batch["attention_mask"] = torch.ones_like(tokens)
    elif kind == "t5":
        config = transformers.T5Config(
            vocab_size=1000, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4, dropout_rate=dropout,
            decoder_start_token_id=0, pad_token_id=0)
        model, batch = _language(transformers.T5ForConditionalGeneration(config), tokens)
    elif kind == "mixtral":
        config = transformers.MixtralConfig(
            hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            num_local_experts=4, num_experts_per_tok=2, vocab_size=1000, max_position_embeddings=128, attention_dropout=dropout)
        model, batch = _language(transformers.MixtralForCausalLM(config), tokens)
    elif kind == "vit":
        config = transformers.ViTConfig(
            hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024, image_size=64,
            patch_size=8, num_labels=10, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        model, batch = transformers.ViTForImageClassification(config), dict(pixel_values=pixels, labels=labels)
    elif kind == "resnet":
        config = transformers.ResNetConfig(
            embedding_size=32, hidden_sizes=[32, 64, 128], depths=[2, 2, 2], layer_type="basic", num_labels=10)
        model, batch = transformers.ResNetForImageClassification(config), dict(pixel_values=pixels, labels=labels)
    else:
        raise ValueError("unknown model " + name)
    if name.endswith("_bf16"):
        model = model.to(torch.bfloat16)
        batch = {k: v.to(torch.bfloat16) if v.is_floating_point() else v for k, v in batch.items()}
    return model.train(), batch


def training_step(model, batch):
    """Loss and all gradients of one forward and backward."""
    model.zero_grad(set_to_none=True)
    torch.manual_seed(77)
    loss = model(**batch).loss
    loss.backward()
    gradients = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    return loss.detach().clone(), gradients
