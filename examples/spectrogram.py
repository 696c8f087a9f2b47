"""The spectrogram of a sound: Fourier transforms of frames that overlap, of a tone that rises.

Frames are windows that slide over the signal. NumPy stores all of them, weighted, and all of their transforms, before
it takes the power of each; traced by `sl.jit` a few frames at a time are there. Checks the result against plain
NumPy's, and prints time and memory of both.

    python examples/spectrogram.py [SECONDS]
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import compare_traced
from numpy.lib.stride_tricks import sliding_window_view

import slinky as sl

RATE = 16_000
FRAME = 512
HOP = 128
SILENCE = 1e-12
WEIGHTS = np.hanning(FRAME)


def plain(signal: np.ndarray) -> np.ndarray:
    """The power of each frequency, in decibels, for each frame."""
    frames = sliding_window_view(signal, FRAME)[::HOP] * WEIGHTS
    power = np.abs(np.fft.rfft(frames)) ** 2
    return 10 * np.log10(power + SILENCE)


traced = sl.jit(plain)


def rising_tone(seconds: float) -> np.ndarray:
    """A tone from 100 Hz to 4 kHz, and a little noise."""
    time = np.arange(int(seconds * RATE)) / RATE
    frequency = 100 + 3900 * time / max(seconds, 1 / RATE)
    noise = np.random.default_rng(0).normal(0, 0.01, len(time))
    return np.sin(2 * np.pi * np.cumsum(frequency) / RATE) + noise


def main() -> None:
    """Make a spectrogram of a rising tone."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0, help="how long the sound is (default: 60)")
    seconds = parser.parse_args().seconds
    if not seconds * RATE >= FRAME:
        parser.error(f"a sound has one frame at least: {FRAME / RATE} seconds, got {seconds}")
    signal = rising_tone(seconds)
    expected, found = plain(signal), traced(signal)
    if not np.allclose(found, expected, rtol=1e-9, atol=1e-6):
        raise SystemExit("spectrogram: the traced function and plain NumPy differ")
    print(traced.pipeline(signal), end="\n\n")
    frames, frequencies = expected.shape
    print(f"{len(signal)} samples, {frames} frames of {frequencies} frequencies: as plain NumPy, but for rounding")
    loudest = expected.argmax(axis=1)[[0, -1]] * RATE / FRAME
    print(f"loudest at {loudest[0]:.0f} Hz in the first frame, at {loudest[1]:.0f} Hz in the last one")
    print(compare_traced(traced, [signal, WEIGHTS], expected, plain))


if __name__ == "__main__":
    main()
