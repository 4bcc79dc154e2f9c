"""The exact Fisher in batches, against a loop over single sequences and against a training step.

All variants take turns within each round; the medians over rounds are compared.
"""

import argparse

import torch
from environment import save_result

from protoglot.devices import prepare_cpu
from protoglot.model.config import COMPACT, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.prior.fisher import sum_squared_gradients
from protoglot.training.config import COMPACT as TRAINING
from training import NUM_FEATURES, VOCABULARY_SIZE, make_step, measure

WANTED_SPEED_UP = 8.0
WANTED_COST = 2.0
LOOPED = 4  # sequences of the slow loop in each round


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sequences", type=int, default=64)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--length", type=int, default=125)
    arguments = parser.parse_args()
    prepare_cpu()
    model = LanguageModel(COMPACT, vocabulary_size=VOCABULARY_SIZE, num_features=NUM_FEATURES)
    ids = torch.randint(1, VOCABULARY_SIZE, (arguments.length + 1, arguments.sequences))

    def loop() -> None:
        total = [torch.zeros_like(weight) for weight in model.parameters()]
        for column in range(LOOPED):
            one = ids[:, column : column + 1]
            nats, _ = model.nats(one[:-1], one[1:], None)
            for sums, gradient in zip(
                total, torch.autograd.grad(nats.sum(), list(model.parameters())), strict=True
            ):
                sums += gradient.square()

    seconds = measure(
        {
            "exact, in batches": lambda: sum_squared_gradients(
                model, ids, None, sequences_at_once=arguments.at_once
            ),
            "loop over single sequences": loop,
            "training step": make_step(COMPACT, TRAINING, Conditioning.BARE, ids[:, :16], None),
        },
        arguments.rounds,
    )
    sequences = {
        "exact, in batches": arguments.sequences,
        "loop over single sequences": LOOPED,
        "training step": 16,
    }
    rates = {name: arguments.length * sequences[name] / seconds[name] for name in seconds}
    speed_up = rates["exact, in batches"] / rates["loop over single sequences"]
    cost = rates["training step"] / rates["exact, in batches"]
    for name, rate in rates.items():
        print(f"{name:28} {rate:10,.0f} characters/s")
    print(f"{speed_up:.1f} times as fast as the loop (wanted at least {WANTED_SPEED_UP:g})")
    print(f"{cost:.2f} times the cost of a training step per character (wanted at most {WANTED_COST:g})")
    result = {
        "sequences_at_once": arguments.at_once,
        "characters_per_second": {name: round(rate) for name, rate in rates.items()},
        "times_as_fast_as_the_loop": round(speed_up, 2),
        "cost_in_training_steps": round(cost, 2),
    }
    print(f"saved {save_result('fisher', result)}")


if __name__ == "__main__":
    main()
