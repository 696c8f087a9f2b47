"""The examples run as a newcomer runs them, give the right result, and fail politely.

Each runs once from nothing; what else is asked of it, of copies of a process that has imported slinky (see `warm`).
"""

from __future__ import annotations

import mmap
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from c_programs import COMPILER
from PIL import Image
from warm import Warm, cold

EXAMPLES = Path(__file__).parent.parent / "examples"


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    """Runs examples again and again."""
    with Warm("numpy", "PIL.Image", "scipy.ndimage", "slinky") as process:
        yield process


def run(name: str, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run an example from nothing."""
    return cold(EXAMPLES / name, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def sharpened(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A run of unsharp masking as it is without arguments, and where."""
    directory = tmp_path_factory.mktemp("sharpened")
    return run("unsharp.py", cwd=directory), directory


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def unsharp(photo: np.ndarray, sigma: float = 2, radius: int = 6, gain: float = 1) -> np.ndarray:
    """Unsharp masking in double precision, one column and one row at a time."""
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    blurred = photo.astype(float)
    for axis in (0, 1):
        pad = [(radius, radius) if d == axis else (0, 0) for d in range(3)]
        padded = np.pad(blurred, pad, mode="edge")
        blurred = np.apply_along_axis(np.convolve, axis, padded, weights, "valid")
    return np.clip(photo + gain * (photo - blurred), 0, 255)


def test_tensors() -> None:
    done = run("tensors.py", 20)
    assert done.returncode == 0, done.stderr
    assert "scratch positive: float32, 20 x 20 x 20 = 8,000 elements\n" in done.stdout
    assert "    scratch positive: float32, 8 x 1 x 20 = 160 elements\n" in done.stdout
    assert "20 x 20: equal to plain NumPy\n" in done.stdout


def test_elementwise() -> None:
    done = run("elementwise.py", 1000)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pipeline elementwise(inp: int32[1]) -> (out: int32[1]):\n  check ")
    assert "1000 elements: equal to plain NumPy\n" in done.stdout


def test_matmul() -> None:
    done = run("matmul.py", 30, 20, 10, 40)
    assert done.returncode == 0, done.stderr
    assert "  abc[:, :] = matmul_abc(ab[:, :], c[:, :])\n" in done.stdout
    assert "(30 x 20) x (20 x 10) x (10 x 40): equal to plain NumPy\n" in done.stdout


@pytest.mark.parametrize("sizes", [(2, 600, 8), (1, 1, 1)])
def test_attention(warm: Warm, sizes: tuple[int, int, int]) -> None:
    done = run("attention.py", *sizes) if sizes[0] > 1 else warm.run(EXAMPLES / "attention.py", *sizes)
    assert done.returncode == 0, done.stderr
    assert "        scores[:, :, :] = score(q[:, :, :], k[:, :, :])\n" in done.stdout
    heads, tokens, dimensions = sizes
    assert f"{heads} heads, {tokens} tokens, {dimensions} dimensions: equal to plain NumPy\n" in done.stdout


def test_attention_holds_one_block_of_scores(warm: Warm) -> None:
    memory = []
    for tokens in (512, 1500, 2048):
        done = warm.run(EXAMPLES / "attention.py", 1, tokens, 8)
        assert done.returncode == 0, done.stderr
        found = re.search(r"pipeline +[\d.]+ ms +[\d.]+ MB +([\d.]+) MB", done.stdout)
        assert found is not None
        memory.append(float(found[1]))
    block = 256 * 512 * 4
    assert max(memory) <= 1.2 * block / 1e6


def test_reaction(warm: Warm, tmp_path: Path) -> None:
    done = run("reaction.py", "--size", 90, "--calls", 12, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("plain is traced: 864 operations: ")
    assert "32 times, a stretch of 27 operations: " in done.stdout
    assert "90 x 90, 384 steps: as plain NumPy, to the bit\n" in done.stdout
    assert done.stdout.endswith("wrote reaction.png\n")
    picture = pixels(tmp_path / "reaction.png")
    assert picture.shape == (90, 90)
    assert len(np.unique(picture)) > 50
    for wrong in (["--size", 3], ["--calls", 0]):
        done = warm.run(EXAMPLES / "reaction.py", *wrong)
        assert done.returncode == 2
        assert "a plane of 4 x 4 and one call at least" in done.stderr


def test_unsharp_of_the_photograph(sharpened: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, directory = sharpened
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pipeline unsharp(inp: uint8[3]) -> (out: uint8[3]):\n")
    assert "eileen_collins.png, 512 x 512 pixels: equal to plain NumPy in every pixel\n" in done.stdout
    assert done.stdout.endswith("wrote unsharp.png\n")
    photo, result = pixels(EXAMPLES / "data" / "eileen_collins.png"), pixels(directory / "unsharp.png")
    assert np.abs(result - unsharp(photo)).max() < 0.51
    assert np.abs(result.astype(int) - photo).max() > 50


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1", "I;16"])
def test_unsharp_of_any_image(warm: Warm, tmp_path: Path, mode: str) -> None:
    image = Image.new(mode, (5, 3))
    image.putpixel((2, 1), 1)
    image.save(tmp_path / "given.png")
    done = warm.run(EXAMPLES / "unsharp.py", tmp_path / "given.png", "-o", tmp_path / "out.bmp")
    assert done.returncode == 0, done.stderr
    assert pixels(tmp_path / "out.bmp").shape == (3, 5, 3)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1)])
def test_unsharp_of_an_image_smaller_than_the_blur(warm: Warm, tmp_path: Path, size: tuple[int, int]) -> None:
    photo = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), np.uint8)
    Image.fromarray(photo).save(tmp_path / "given.png")
    done = warm.run(EXAMPLES / "unsharp.py", tmp_path / "given.png", "-o", tmp_path / "out.png")
    assert done.returncode == 0, done.stderr
    assert np.abs(pixels(tmp_path / "out.png") - unsharp(photo)).max() < 0.51


def test_unsharp_of_a_directory(warm: Warm, tmp_path: Path) -> None:
    done = warm.run(EXAMPLES / "unsharp.py", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"unsharp: cannot read {tmp_path} as an image: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("content", [None, b"", b"this is text", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"])
def test_unsharp_without_an_image(warm: Warm, tmp_path: Path, content: bytes | None) -> None:
    given = tmp_path / "given.png"
    if content is not None:
        given.write_bytes(content)
    done = warm.run(EXAMPLES / "unsharp.py", given, cwd=tmp_path)
    assert done.returncode == 1
    expected = "there is no file" if content is None else "cannot read"
    assert done.stderr.startswith(f"unsharp: {expected} {given}")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "unsharp.png").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere/out.png", "[Errno 2] No such file"), ("out.unknown", "unknown file extension"), (".", "it is a dir")],
)
def test_unsharp_that_cannot_write(warm: Warm, tmp_path: Path, name: str, reason: str) -> None:
    Image.new("RGB", (5, 3)).save(tmp_path / "given.png")
    done = warm.run(EXAMPLES / "unsharp.py", tmp_path / "given.png", "-o", tmp_path / name)
    assert done.returncode == 1
    assert done.stderr.startswith(f"unsharp: cannot write {tmp_path / name}: {reason}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("elementwise.py", ["-1"]), ("matmul.py", ["x"]), ("attention.py", ["0"]), ("tensors.py", ["0"])],
)
def test_arguments_that_make_no_sense(warm: Warm, name: str, arguments: list[str]) -> None:
    done = warm.run(EXAMPLES / name, *arguments)
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_unsharp_says_what_its_schedule_saves(sharpened: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, _ = sharpened
    assert "  for y in out.y.min - 16 .. out.y.max step 8:\n" in done.stdout
    rows, row = 512 + 12, (512 + 12) * 3 * 4
    strip = 20 * row + 8 * row + 3 * 8 * 512 * 3 * 4
    whole = re.search(r"intermediates: ([\d.]+) MB as described, ([\d.]+) MB as scheduled", done.stdout)
    assert whole is not None
    assert round(strip / 1e6, 2) <= float(whole[2]) <= round((strip + 3 * mmap.PAGESIZE) / 1e6, 2)
    assert float(whole[1]) > rows * row / 1e6


def test_the_edges_of_the_photograph(tmp_path: Path) -> None:
    done = run("boundaries.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pipeline edges(inp: uint8[2]) -> (edges: uint8[2]):\n")
    assert "512 x 512 pixels: equal to scipy.ndimage in every pixel\n" in done.stdout
    found = re.search(r"intermediates: ([\d.]+) MB as described, ([\d.]+) MB as scheduled \(([\d.]+)%\)", done.stdout)
    assert found is not None
    assert float(found[1]) > 3
    assert float(found[3]) < 1
    edges = pixels(tmp_path / "boundaries.png")
    assert edges.shape == (512, 512)
    assert set(np.unique(edges)) == {0, 255}
    assert 0.02 < (edges == 255).mean() < 0.3


def test_examples_in_their_numpy_form(sharpened: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """The function of arrays itself, traced, gives the same picture in a small part of the memory."""
    done, _ = sharpened
    assert "plain NumPy, traced by sl.jit: equal in every pixel\n" in done.stdout
    table = done.stdout.partition("traced by sl.jit")[2]
    assert traced_bytes(table, "plain NumPy") > 4 * traced_bytes(table, "pipeline")


def traced_bytes(table: str, row: str) -> float:
    """The peak memory in a row of a table, in MB."""
    found = re.search(rf"^{row} +[\d.]+ m?s +([\d.]+) MB", table, re.MULTILINE)
    assert found is not None, table
    return float(found[1])


def test_a_spectrogram(warm: Warm) -> None:
    done = run("spectrogram.py", 20)
    assert done.returncode == 0, done.stderr
    assert "320000 samples, 2497 frames of 257 frequencies: as plain NumPy, but for rounding\n" in done.stdout
    assert "loudest at 94 Hz in the first frame, at 4000 Hz in the last one\n" in done.stdout
    assert traced_bytes(done.stdout, "plain NumPy") > 4 * traced_bytes(done.stdout, "pipeline")
    for seconds in ("0.032", "0.5"):
        assert warm.run(EXAMPLES / "spectrogram.py", seconds).returncode == 0
    refused = warm.run(EXAMPLES / "spectrogram.py", "0.01")
    assert refused.returncode == 2
    assert "a sound has one frame at least" in refused.stderr


def test_frames_of_a_camera(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """By pieces of NumPy, either may be faster, and runs then; in C these take a quarter of the time."""
    monkeypatch.setenv("SLINKY_NATIVE", "1")
    done = run("camera.py", 3)
    assert done.returncode == 0, done.stderr
    assert "corrected is traced: 12 operations" in done.stdout
    assert "traced at each call" not in done.stdout
    assert (
        "3 frames of 1080 x 1920 pixels, each with an exposure of its own: every bit as it should be\n" in done.stdout
    )
    if COMPILER is not None:
        assert traced_bytes(done.stdout, "as it is") > 4 * traced_bytes(done.stdout, "by pieces")
    refused = warm.run(EXAMPLES / "camera.py", "0")
    assert refused.returncode == 2
    assert "there is one frame at least" in refused.stderr


def test_a_segmentation(tmp_path: Path) -> None:
    done = run("segmentation.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "512 x 512 pixels: equal to scipy.ndimage in every pixel\n" in done.stdout
    found = re.search(r"(\d+) pixels are steep, (\d+) of them in parts that stand out", done.stdout)
    assert found is not None
    parts = pixels(tmp_path / "segmentation.png")
    assert (parts == 255).sum() == int(found[2]) < int(found[1])
    assert set(np.unique(parts)) == {0, 255}


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (3, 2), (2, 7)])
@pytest.mark.parametrize("name", ["boundaries", "mosaic", "segmentation"])
def test_small_images(warm: Warm, tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    photo = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), np.uint8)
    Image.fromarray(photo).save(tmp_path / "given.png")
    done = warm.run(EXAMPLES / f"{name}.py", tmp_path / "given.png", "-o", tmp_path / "out.png")
    assert done.returncode == 0, done.stderr
    assert " in every pixel\n" in done.stdout


@pytest.mark.parametrize("name", ["unsharp", "boundaries", "mosaic"])
def test_what_fails_says_which_example_it_is(warm: Warm, tmp_path: Path, name: str) -> None:
    done = warm.run(EXAMPLES / f"{name}.py", tmp_path / "given.png", cwd=tmp_path)
    assert done.stderr == f"{name}: there is no file {tmp_path / 'given.png'}\n"
    Image.new("RGB", (3, 2)).save(tmp_path / "given.png")
    done = warm.run(EXAMPLES / f"{name}.py", tmp_path / "given.png", "-o", tmp_path / "out.unknown", cwd=tmp_path)
    assert done.stderr.startswith(f"{name}: cannot write {tmp_path / 'out.unknown'}: unknown file extension")


def test_the_mosaic_of_the_photograph(tmp_path: Path) -> None:
    done = run("mosaic.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1056 x 1056 pixels: equal to plain NumPy in every pixel\n" in done.stdout
    used = re.findall(r"intermediates: ([\d.]+) MB, copied: ([\d.]+) MB", done.stdout)
    tiles, mosaic = 4 * 512 * 512 * 3 / 1e6, 1056 * 1056 * 3 / 1e6
    assert used[0][1] == f"{2 * tiles + mosaic:.2f}"
    assert used[1] == ("0.00", f"{mosaic - tiles:.2f}")  # nothing but the frame
    photo, result = pixels(EXAMPLES / "data" / "eileen_collins.png")[..., :3], pixels(tmp_path / "mosaic.png")
    assert (result[:16] == 255).all()
    assert (result[16:528, 16:528] == 255 - photo).all()
    assert (result[528:1040, 16:528] == photo // 2).all()


def test_the_stencil_step_by_step() -> None:
    done = run("stencil.py")
    assert done.returncode == 0, done.stderr
    memory = re.findall(r"intm takes (\d+) bytes \((\d+) elements\); add made (\d+) elements", done.stdout)
    before, after = (30 + 2) * (20 + 2), 3 * (20 + 2)
    assert [int(made) for _, _, made in memory] == [before, before, 30 * after, before, before]
    assert [int(elements) for _, elements, _ in memory] == [before] * 4 + [after]
    assert [int(size) for size, _, _ in memory] == [2 * before] * 4 + [2 * after]
    assert done.stdout.count("\npipeline stencil(inp: int16[2]) -> (out: int16[2]):\n") == 5
    assert done.stdout.endswith("20 x 30: equal to plain NumPy after every step\n")


@pytest.mark.parametrize(("arguments", "code"), [((1, 1), 0), ((300, 2), 0), ((0, 5), 2), (("x", 5), 2)])
def test_the_stencil_of_other_sizes(warm: Warm, arguments: tuple[object, ...], code: int) -> None:
    done = warm.run(EXAMPLES / "stencil.py", *arguments)
    assert done.returncode == code
    assert ("usage:" in done.stderr) == (code != 0)
