"""Draw metrics of runs as one SVG, a panel for each metric, a line for each name.

    python scripts/plot_runs.py --out docs/how-to/mix.svg \
        --metric grpo/correct/raw_mean=correct --metric completions/mean_length=tokens \
        gates=runs/gates-0,runs/gates-1 "no gates=runs/no-gates-0,runs/no-gates-1"

The numbers are those of each run's metrics.jsonl; of the training a point is the mean of the last 5
lines of the log, of an evaluation it is one. Of several runs (seeds) the line is their mean, and
the band goes from the lowest to the highest.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 250, 150  # of a panel's drawing
LEFT, TOP, GAP_X, GAP_Y = 40, 46, 56, 58
COLUMNS = 2
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce")
DASHES = ("", "6 3", "2 3", "8 3 2 3")  # told apart without colours too
SMOOTH = 5

Points = list[tuple[float, float]]
Band = list[tuple[float, float, float, float]]  # step, lowest, mean and highest of the runs


def read_points(run: Path, metric: str) -> Points:
    """Step and value of a metric in a run's log; that of the training is smoothed."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    logged = [line for line in map(json.loads, lines) if metric in line]
    points = [(float(line["step"]), float(line[metric])) for line in logged]
    if metric.startswith("eval_"):  # few, and each of many completions
        return points
    smooth = []
    for i in range(len(points)):
        last = points[max(0, i - SMOOTH + 1) : i + 1]
        smooth.append((points[i][0], sum(value for _, value in last) / len(last)))
    return smooth


def join(runs: Sequence[Points]) -> Band:
    """Lowest, mean and highest of the runs at the steps that all of them have."""
    by_step = [dict(points) for points in runs]
    shared = [step for step in by_step[0] if all(step in points for points in by_step)]
    band = []
    for step in shared:
        values = [points[step] for points in by_step]
        band.append((step, min(values), sum(values) / len(values), max(values)))
    return band


def draw(runs: Mapping[str, Sequence[Path]], metrics: Mapping[str, str]) -> str:
    """The SVG.

    Args:
        runs: Run directories by their name in the legend.
        metrics: What is written above a panel, by metric.
    """
    rows = -(-len(metrics) // COLUMNS)
    width = LEFT + COLUMNS * (WIDTH + GAP_X)
    height = TOP + rows * (HEIGHT + GAP_Y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="11" fill="#333">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for i, name in enumerate(runs):
        x = LEFT + i * 150
        parts.append(f'<path d="M{x} 14h28" {_stroke(i)}/>')
        parts.append(f'<text x="{x + 34}" y="18">{escape(name)}</text>')
    for i, (metric, title) in enumerate(metrics.items()):
        x = LEFT + i % COLUMNS * (WIDTH + GAP_X)
        y = TOP + i // COLUMNS * (HEIGHT + GAP_Y)
        bands = [join([read_points(run, metric) for run in folders]) for folders in runs.values()]
        parts.append(f'<g transform="translate({x} {y})">{_panel(title, bands)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, bands: Sequence[Band]) -> str:
    last = max(step for band in bands for step, *_ in band) or 1.0
    highest = max(value for band in bands for *_, value in band)
    top = 1.0 if highest <= 1.0 else -(-highest // 20) * 20
    parts = [f'<text y="-8" font-weight="bold">{escape(title)}</text>']
    for share in (0, 0.5, 1):
        y = round(HEIGHT * (1 - share), 1)
        parts.append(f'<path d="M0 {y}h{WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="-6" y="{y + 4}" text-anchor="end">{top * share:g}</text>')
        step = f'<text x="{WIDTH * share:g}" y="{HEIGHT + 15}" text-anchor="middle">'
        parts.append(f"{step}{last * share:g}</text>")
    parts.append(f'<text x="{WIDTH / 2:g}" y="{HEIGHT + 29}" text-anchor="middle">step</text>')

    def places(points: Iterable[tuple[float, float]]) -> str:
        return " ".join(
            f"{WIDTH * step / last:.1f} {HEIGHT * (1 - value / top):.1f}" for step, value in points
        )

    for i, band in enumerate(bands):
        edges = [(step, high) for step, *_, high in band]
        edges += [(step, low) for step, low, *_ in reversed(band)]
        parts.append(f'<path d="M{places(edges)}z" fill="{COLOURS[i]}" fill-opacity="0.15"/>')
    for i, band in enumerate(bands):
        line = places((step, mean) for step, _, mean, _ in band)
        parts.append(f'<path d="M{line}" {_stroke(i)}/>')
    return "\n".join(parts)


def _stroke(i: int) -> str:
    dash = f' stroke-dasharray="{DASHES[i]}"' if DASHES[i] else ""
    return f'fill="none" stroke="{COLOURS[i]}" stroke-width="1.6"{dash}'


def _pair(text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise argparse.ArgumentTypeError(f"expected LEFT=RIGHT, got {text!r}")
    return left, right


def main() -> None:
    """Write the SVG."""
    parser = argparse.ArgumentParser(description="Draw metrics of runs as one SVG.")
    parser.add_argument("runs", nargs="+", type=_pair, help="NAME=RUN_DIRECTORY,…, up to 4")
    parser.add_argument("--metric", action="append", type=_pair, required=True, help="KEY=TITLE")
    parser.add_argument("--out", type=Path, required=True, help="the SVG, replaced")
    given = parser.parse_args()
    if len(given.runs) > len(COLOURS):
        parser.error(f"expected at most {len(COLOURS)} runs, got {len(given.runs)}")
    runs = {name: [Path(folder) for folder in folders.split(",")] for name, folders in given.runs}
    given.out.write_text(draw(runs, dict(given.metric)), encoding="utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
