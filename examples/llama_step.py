"""Records one training step (forward, backward, AdamW) of a small Llama built from a config; nothing is downloaded.

usage: llama_step.py DUMP_FOLDER [statistics|tensor]
"""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from msprobe.pytorch import PrecisionDebugger


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["statistics"], ["tensor"]):
        sys.exit(__doc__)
    folder, task = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "statistics"
    torch.manual_seed(1234)
    model = LlamaForCausalLM(
        LlamaConfig(
            hidden_size=256,
            intermediate_size=688,
            num_hidden_layers=4,
            num_attention_heads=8,
            num_key_value_heads=2,
            vocab_size=1000,
            max_position_embeddings=128,
        ))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(3, 1000, (2, 64))

    debugger = PrecisionDebugger(dump_path=folder, task=task, level="L1", step=[0])
    for _ in range(2):
        debugger.start()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        debugger.stop()
        optimizer.step()
        optimizer.zero_grad()
        debugger.step()
    print("loss of the last step: %.6f" % loss.item())


if __name__ == "__main__":
    main()
