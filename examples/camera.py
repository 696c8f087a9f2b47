"""Frames of a camera, corrected by what is known of it: a class with arrays, a method that returns a dataclass.

The camera holds a dark frame, the light that each pixel gets, and the places of pixels that are broken, which are made
of their neighbours. `sl.jit` before the method is all: the arrays and the numbers of the camera are told at each call,
so that exposure may change between frames, and one trace serves all of them. Checks each frame against the method as
it is, and prints time and memory of both.

    python examples/camera.py [FRAMES]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from measure import megabytes, milliseconds, peak_bytes

import slinky as sl

HEIGHT, WIDTH = 1080, 1920


@dataclass
class Frame:
    """A frame that is corrected, and how bright it is."""

    image: np.ndarray
    brightness: np.floating


class Camera:
    """What is known of a camera."""

    def __init__(self, dark: np.ndarray, light: np.ndarray, broken: np.ndarray) -> None:
        self.dark = dark
        self.light = light
        self.broken = broken
        self.exposure = 1.0

    def lit(self, raw: np.ndarray) -> np.ndarray:
        """How much light each pixel got."""
        return (raw - self.dark) / (self.light * self.exposure)

    @sl.jit
    def corrected(self, raw: np.ndarray) -> Frame:
        """A frame without dark, with even light, and with no pixel that is broken."""
        lit = self.lit(raw)
        around = np.pad(lit, ((0, 0), (1, 1)), mode="reflect")
        mended = np.where(self.broken, (around[:, :-2] + around[:, 2:]) / 2, lit)
        image = np.clip(mended, 0, 1) ** 0.5
        return Frame(image, image.max() - image.min())


def main() -> None:
    """Correct frames of a camera."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("frames", nargs="?", type=int, default=30, help="how many frames there are (default: 30)")
    frames = parser.parse_args().frames
    if frames < 1:
        parser.error(f"there is one frame at least, got {frames}")
    numbers = np.random.default_rng(0)
    shape = (HEIGHT, WIDTH)
    camera = Camera(numbers.random(shape) / 50, 0.75 + numbers.random(shape) / 4, numbers.random(shape) < 0.001)
    plain = Camera.corrected.__wrapped__
    for number in range(frames):
        camera.exposure = 1 + number / frames
        raw = numbers.random(shape) * camera.exposure
        expected, found = plain(camera, raw), camera.corrected(raw)
        if not (np.array_equal(found.image, expected.image) and found.brightness == expected.brightness):
            raise SystemExit(f"camera: frame {number} differs from what the method gives as it is")
    print(camera.corrected.explain(raw), end="\n\n")
    print(f"{frames} frames of {HEIGHT} x {WIDTH} pixels, each with an exposure of its own: every bit as it should be")
    camera.corrected.wait_native(60)
    for _ in range(20):  # calls take turns with the method as it is, until it is known who is faster
        camera.corrected(raw)
    result_bytes = expected.image.nbytes
    for name, run in (("as it is", lambda: plain(camera, raw)), ("by pieces", lambda: camera.corrected(raw))):
        print(f"{name:10}{milliseconds(run):>10} {megabytes(peak_bytes(run) - result_bytes):>12} beside the result")


if __name__ == "__main__":
    main()
