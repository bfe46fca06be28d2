"""Whatever is recorded, loss and every gradient are those of a run without the tool, bit for bit."""

import json

import pytest
import torch

import models
from dump_checks import check_same_gradients

COMBINATIONS = [(level, task) for level in ("L0", "L1", "mix") for task in ("statistics", "md5", "tensor")]


def gradients(model):
    return {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def plain(model, batch):
    return models.training_step(model, batch)


def checkpointed(reentrant):
    def step(model, batch):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
        if reentrant:
            model.enable_input_require_grads()
        return models.training_step(model, batch)

    return step


def with_amp(model, batch):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    model.zero_grad(set_to_none=True)
    torch.manual_seed(77)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(**batch).loss
    scaler.scale(loss).backward()
    return loss.detach().clone(), gradients(model)


def accumulated(model, batch):
    loss, _ = models.training_step(model, batch)
    second = model(**batch).loss / 2
    second.backward()
    return loss + second.detach(), gradients(model)


_compiled = {}


def compiled(model, batch):
    if model not in _compiled:
        torch._dynamo.reset()
        _compiled.clear()
        _compiled[model] = torch.compile(model, backend="aot_eager")
    model.zero_grad(set_to_none=True)
    torch.manual_seed(77)
    loss = _compiled[model](**batch).loss
    loss.backward()
    return loss.detach().clone(), gradients(model)


CASES = {
    "llama dropout": ("llama", 0.1, plain), "gpt2 dropout": ("gpt2", 0.1, plain), "bert dropout": ("bert", 0.1, plain),
    "t5 dropout": ("t5", 0.1, plain), "mixtral": ("mixtral", 0.0, plain), "vit dropout": ("vit", 0.1, plain),
    "resnet": ("resnet", 0.0, plain), "llama_bf16": ("llama_bf16", 0.0, plain),
    "llama checkpointing": ("llama", 0.1, checkpointed(False)),
    "gpt2 reentrant checkpointing": ("gpt2", 0.1, checkpointed(True)),
    "llama amp": ("llama", 0.1, with_amp), "vit amp": ("vit", 0.1, with_amp),
    "gpt2 accumulation": ("gpt2", 0.1, accumulated), "llama compiled": ("llama", 0.1, compiled),
}


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_bit_identical(case, fresh_debugger, load_dump, tmp_path):
    name, dropout, step = CASES[case]
    torch.set_num_threads(1)
    model, batch = models.build(name, dropout)
    state = {key: value.clone() for key, value in model.state_dict().items()}

    def run():
        model.load_state_dict(state)  # batch norm and the like count steps
        return step(model, batch)

    run()
    random_state = torch.get_rng_state()
    loss, expected = run()
    after = torch.get_rng_state()
    for level, task in COMBINATIONS:
        section = "statistics" if task == "md5" else task
        config = tmp_path / "config.json"
        folder = tmp_path / (level + task)
        config.write_text(json.dumps({
            "task": section, "level": level, "dump_path": str(folder),
            section: {"summary_mode": "md5"} if task == "md5" else {}}))
        fresh_debugger._instance = None
        debugger = fresh_debugger(str(config))
        torch.set_rng_state(random_state)
        debugger.start(model)
        loss_with, found = run()
        debugger.stop()
        debugger.step()
        assert torch.equal(torch.get_rng_state(), after), (level, task)
        assert torch.equal(loss, loss_with), (level, task)
        check_same_gradients(expected, found, level, task)
        if case.endswith("compiled") and not (folder / "step0").exists():
            continue  # all of the model's modules run compiled: nothing is recorded, no folder is made
        dump = load_dump(folder)
        assert dump.errors == "" and dump.data
