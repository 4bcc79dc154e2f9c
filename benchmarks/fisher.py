"""The exact Fisher in batches, against a loop over single sequences and against a training step.

The loop is measured in both precisions: in float64 it is the reference that the tests hold the batches to; in float32
it does the same work as they do. What a perfect implementation could gain over the loop follows from the arithmetic:
six operations for each weight and character, at the speed of the fastest matrix product of the machine.

All variants take turns within each round; the medians over rounds are compared.
"""

import argparse
import copy

import torch
from environment import matmul_gflops, save_result

from protoglot.devices import prepare_cpu
from protoglot.model.config import COMPACT, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.prior.fisher import sum_squared_gradients
from protoglot.training.config import COMPACT as TRAINING
from training import NUM_FEATURES, VOCABULARY_SIZE, make_step, measure

WANTED_SPEED_UP = 8.0
WANTED_COST = 2.0
BATCHED = "in batches, {}"
LOOP = "loop over single sequences, {}"
STEP = "training step"
STEP_SIZE = TRAINING.batching.batch_size
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sequences", type=int, default=64, help="measured in batches")
    parser.add_argument("--looped", type=int, default=4, help="measured one by one")
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--length", type=int, default=125)
    arguments = parser.parse_args()
    prepare_cpu()
    peak = matmul_gflops()
    model = LanguageModel(COMPACT, vocabulary_size=VOCABULARY_SIZE, num_features=NUM_FEATURES)
    ids = torch.randint(1, VOCABULARY_SIZE, (arguments.length + 1, arguments.sequences))
    step = make_step(COMPACT, TRAINING, Conditioning.BARE, ids[:, :STEP_SIZE], None)
    variants, amounts = {STEP: step}, {STEP: STEP_SIZE}
    for name, precision in PRECISIONS.items():
        precise = copy.deepcopy(model).to(precision)
        variants[BATCHED.format(name)] = lambda precise=precise: sum_squared_gradients(
            precise, ids, None, sequences_at_once=arguments.at_once
        )
        variants[LOOP.format(name)] = lambda precise=precise: loop(precise, ids[:, : arguments.looped])
        amounts |= {BATCHED.format(name): arguments.sequences, LOOP.format(name): arguments.looped}
    seconds = measure(variants, arguments.rounds)
    rates = {name: arguments.length * amounts[name] / taken for name, taken in seconds.items()}
    peak = max(peak, matmul_gflops())
    batched = rates[BATCHED.format("float32")]
    speed_ups = {name: batched / rates[LOOP.format(name)] for name in PRECISIONS}
    speed_ups["float64, both"] = rates[BATCHED.format("float64")] / rates[LOOP.format("float64")]
    cost = rates[STEP] / batched
    operations = 6 * sum(weight.numel() for weight in model.parameters())
    most = peak * 1e9 / operations / rates[LOOP.format("float32")]
    for name, rate in rates.items():
        print(f"{name:38} {rate:10,.0f} characters/s")
    print(f"{cost:.2f} times the cost of a training step per character (wanted at most {WANTED_COST:g})")
    for name, speed_up in speed_ups.items():
        print(f"{speed_up:.1f} times as fast as the loop, {name} (wanted at least {WANTED_SPEED_UP:g})")
    print(
        f"at the float32 matmul peak of {peak:.0f} GFLOPS, the arithmetic alone allows {most:.1f} times "
        "as fast as the loop, float32"
    )
    result = {
        "sequences_at_once": arguments.at_once,
        "characters_per_second": {name: round(rate) for name, rate in rates.items()},
        "times_as_fast_as_the_loop": {name: round(speed_up, 2) for name, speed_up in speed_ups.items()},
        "cost_in_training_steps": round(cost, 2),
        "matmul_gflops": round(peak, 1),
        "most_that_is_possible": round(most, 2),
    }
    print(f"saved {save_result('fisher', result)}")


def loop(model: LanguageModel, ids: torch.Tensor) -> list[torch.Tensor]:
    """The same by automatic differentiation, one sequence at a time."""
    weights = list(model.parameters())
    total = [torch.zeros_like(weight) for weight in weights]
    for one in torch.split(ids, 1, dim=1):
        nats, _ = model.nats(one[:-1], one[1:], None)
        for sums, gradient in zip(total, torch.autograd.grad(nats.sum(), weights), strict=True):
            sums += gradient.square()
    return total


if __name__ == "__main__":
    main()
