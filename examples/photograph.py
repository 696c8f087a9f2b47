"""From the command line to a photograph, and from a picture to a file: what the examples on photographs share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

PROGRAM = Path(sys.argv[0]).stem
"""The name of the example that runs."""

try:
    from PIL import Image, ImageOps
except ImportError:
    raise SystemExit(f"{PROGRAM} needs Pillow; install the extra with: pip install -e '.[examples]'") from None

PHOTO = Path(__file__).parent / "data" / "eileen_collins.png"


def arguments(description: str) -> tuple[Path, Path]:
    """The image given on the command line, or else a photograph, and the file that the picture goes to."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("image", metavar="IMAGE", nargs="?", type=Path, default=PHOTO, help="any image file")
    parser.add_argument("-o", "--output", metavar="OUT.png", type=Path, default=Path(f"{PROGRAM}.png"))
    options = parser.parse_args()
    return options.image, options.output


def read(path: Path) -> np.ndarray:
    """The pixels of an image, upright, in red, green and blue."""
    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except FileNotFoundError:
        raise SystemExit(f"{PROGRAM}: there is no file {path}") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise SystemExit(f"{PROGRAM}: cannot read {path} as an image: {error}") from None


def write(pixels: np.ndarray, path: Path) -> None:
    """Write an image in the format that the name of the file says."""
    if path.is_dir():
        raise SystemExit(f"{PROGRAM}: cannot write {path}: it is a directory")
    try:
        Image.fromarray(pixels).save(path)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{PROGRAM}: cannot write {path}: {error}") from None
    print(f"wrote {path}")
