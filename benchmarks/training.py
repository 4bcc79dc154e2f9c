"""A whole training step, and scoring, against a bare ``torch.nn.LSTM`` stack of the same widths.

The bare stack does forward and backward on random vectors and nothing else. Ours embeds characters, applies every
regulariser at the paper's rates, computes the loss over the vocabulary, clips, and updates with Adam. All variants
take turns within each round, and the median over rounds is compared, so a slow moment hits all of them. Steps are
measured with the batches of the preset, and with those of the paper (128 sequences).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from environment import matmul_gflops, save_result
from torch import nn

from protoglot.devices import prepare_cpu
from protoglot.evaluation import CHUNK_LENGTH
from protoglot.model.config import PAPER, PRESETS, Conditioning, ModelConfig
from protoglot.model.network import LanguageModel
from protoglot.training.config import PRESETS as TRAINING_PRESETS
from protoglot.training.config import TrainingConfig
from protoglot.training.loop import dropout_generator, make_optimizer, training_step

VOCABULARY_SIZE = 356
NUM_FEATURES = 245
WANTED = {
    "bare step": 0.85,
    "oest step": 0.75,
    "oest step, mixed languages": 0.75,
    "bare scoring": 0.8,
    "oest scoring": 0.8,
}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--preset", choices=("compact", "plain"), default="compact")
    parser.add_argument("--length", type=int, default=125)
    parser.add_argument("--texts", type=int, default=52, help="languages scored side by side")
    arguments = parser.parse_args()
    config, training = PRESETS[arguments.preset], TRAINING_PRESETS[arguments.preset]
    prepare_cpu()
    peak = matmul_gflops()
    rows: list[dict[str, object]] = []
    shares = {}
    for batch_size in (training.batching.batch_size, TRAINING_PRESETS["paper"].batching.batch_size):
        variants = training_variants(config, training, batch_size, arguments.length)
        # A round with large batches takes long, and averages over as much.
        seconds = measure(variants, arguments.rounds if batch_size < 100 else arguments.rounds // 3)
        rates = {name: batch_size * arguments.length / taken for name, taken in seconds.items()}
        rows += [{"batch_size": batch_size, **row} for row in compared(rates)]
        shares[batch_size] = (rates["stack, forward and backward"], rates["bare step"])
    seconds = measure(scoring_variants(config, arguments.texts), arguments.rounds)
    rows += compared({name: arguments.texts * CHUNK_LENGTH / taken for name, taken in seconds.items()})
    peak = max(peak, matmul_gflops())
    print(f"{arguments.preset}; sequences of {arguments.length}; {arguments.texts} texts scored at once")
    print(f"{'':28} {'batch':>6} {'characters/s':>12} {'ratio':>7} {'wanted':>7}")
    for row in rows:
        wanted = f">= {row['wanted']}" if row["wanted"] else ""
        print(
            f"{row['what']:28} {row.get('batch_size', ''):>6} {row['characters_per_second']:12,} "
            f"{row['ratio']:7.3f} {wanted:>7}"
        )
    weights = sum(weight.numel() for layer in make_stack(config) for weight in layer.parameters())
    of_peak = {}
    for batch_size, both in shares.items():
        stack, step = (6 * weights * rate / 1e9 / peak for rate in both)
        of_peak[batch_size] = {"stack": round(stack, 3), "bare step": round(step, 3)}
        print(
            f"batches of {batch_size}: LSTM arithmetic is {stack:.0%} of the peak alone, {step:.0%} in a BARE step"
        )
    print(f"float32 matmul peak {peak:.0f} GFLOPS")
    path = save_result(
        "training" if arguments.preset == "compact" else f"training-{arguments.preset}",
        {
            "preset": arguments.preset,
            "length": arguments.length,
            "texts": arguments.texts,
            "rows": rows,
            "matmul_gflops": round(peak, 1),
            "share_of_peak": of_peak,
        },
    )
    print(f"saved {path}")


def compared(rates: dict[str, float]) -> list[dict[str, object]]:
    """Characters a second of all variants, and their ratio to the first, the bare stack."""
    stack = next(iter(rates.values()))
    return [
        {
            "what": name,
            "characters_per_second": round(rate),
            "ratio": round(rate / stack, 3),
            "wanted": WANTED.get(name),
        }
        for name, rate in rates.items()
    ]


def measure(variants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each variant; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds + 1):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def make_stack(config: ModelConfig) -> list[nn.LSTM]:
    """The bare layers."""
    sizes = [config.embedding_size] + [config.hidden_size] * (config.num_layers - 1)
    return [nn.LSTM(size, config.hidden_size) for size in sizes]


def training_variants(
    config: ModelConfig, training: TrainingConfig, batch_size: int, length: int
) -> dict[str, Callable[[], object]]:
    """Forward and backward of the stack, and whole steps of ours."""
    stack = make_stack(config)
    vectors = torch.randn(length, batch_size, config.embedding_size)
    ids = torch.randint(1, VOCABULARY_SIZE, (length + 1, batch_size))
    one, rows = torch.rand(NUM_FEATURES), torch.rand(batch_size, NUM_FEATURES)

    def bare_stack() -> None:
        flow = vectors
        for layer in stack:
            flow, _ = layer(flow)
            layer.zero_grad()
        flow.sum().backward()

    return {
        "stack, forward and backward": bare_stack,
        "bare step": make_step(config, training, Conditioning.BARE, ids, None),
        "oest step": make_step(config, training, Conditioning.OEST, ids, one),
        "oest step, mixed languages": make_step(config, training, Conditioning.OEST, ids, rows),
    }


def make_step(
    config: ModelConfig,
    training: TrainingConfig,
    conditioning: Conditioning,
    ids: torch.Tensor,
    features: torch.Tensor | None,
) -> Callable[[], object]:
    """One whole training step."""
    model = make_model(config, conditioning)
    optimizer = make_optimizer(model, training, num_characters=10**7)
    return lambda: training_step(
        model,
        optimizer,
        ids,
        features,
        rate=1e-4,
        weights=torch.ones(ids.shape[1]),
        max_gradient_norm=1.0,
        generator=dropout_generator(model, seed=0, step=0),
        name="benchmark",
    )


def scoring_variants(config: ModelConfig, num_texts: int) -> dict[str, Callable[[], object]]:
    """Forward of the stack, and scoring with state carried over."""
    stack = [layer.eval() for layer in make_stack(config)]
    vectors = torch.randn(CHUNK_LENGTH, num_texts, config.embedding_size)
    ids = torch.randint(1, VOCABULARY_SIZE, (CHUNK_LENGTH + 1, num_texts))

    @torch.no_grad()
    def forward() -> None:
        flow = vectors
        for layer in stack:
            flow, _ = layer(flow)

    variants: dict[str, Callable[[], object]] = {"stack, forward": forward}
    for conditioning in (Conditioning.BARE, Conditioning.OEST):
        model = make_model(config, conditioning)
        features = None if conditioning is Conditioning.BARE else torch.rand(num_texts, NUM_FEATURES)
        variants[f"{conditioning} scoring"] = make_scoring(model, ids, features)
    return variants


def make_scoring(model: LanguageModel, ids: torch.Tensor, features: torch.Tensor | None) -> Callable[[], object]:
    """Scoring of one chunk of every text."""
    state = model.initial_state(ids.shape[1])

    @torch.no_grad()
    def score() -> object:
        return model.nats(ids[:-1], ids[1:], features, state)[0].double().sum()

    return score


def make_model(config: ModelConfig, conditioning: Conditioning) -> LanguageModel:
    """A model with all regularisers, at the paper's rates."""
    regularised = replace(
        config,
        conditioning=conditioning,
        embedding_dropout=PAPER.embedding_dropout,
        hidden_dropout=PAPER.hidden_dropout,
        output_dropout=PAPER.output_dropout,
        recurrent_dropconnect=PAPER.recurrent_dropconnect,
    )
    return LanguageModel(regularised, vocabulary_size=VOCABULARY_SIZE, num_features=NUM_FEATURES)


if __name__ == "__main__":
    main()
