"""Draws sampled stacks as a flame graph: one SVG that zooms and searches in any browser and needs nothing else.

Written here because py-spy draws only what one of its processes sampled: the merged graph, and one whose samples are
those of the speedscope file beside it, have to be drawn from the stacks. The root is at the top, siblings are in
alphabetical order, and a box is as wide as its share of the samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape as escaped
from zlib import crc32

from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.stacks import Stack

WIDTH = 1600
_ROW = 18
_MARGIN = 10
_HEAD = 78
_CHARACTER = 7.25  # width of a 12 px monospace character
_LEAST_WIDTH = 0.3  # px: narrower boxes cannot be seen, nor pointed at
_HUES = {"engine": 28, "operators": 200, "nexmark": 130, "shm": 280}
"""Colour by package, so that one glance tells engine from operators; everything else is grey."""

_STYLE = (
    "text { font: 12px monospace; fill: #111 } g.f { cursor: pointer } g.f:hover rect { stroke: #000 } "
    ".b { cursor: pointer; text-decoration: underline }"
)
_SCRIPT = r"""
const W = %(width)d, M = %(margin)d, C = %(character)s;
const all = [...document.querySelectorAll('g.f')].map(g => ({g, x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d,
  r: g.querySelector('rect'), t: g.querySelector('text'), n: g.dataset.n}));
function show(x0, w0, d0) {
  for (const f of all) {
    const left = Math.max(f.x, x0), right = Math.min(f.x + f.w, x0 + w0);
    const inside = right - left > 1e-9 * w0 && (f.d >= d0 || f.w >= w0);
    f.g.style.display = inside ? '' : 'none';
    if (!inside) continue;
    const px = M + (left - x0) / w0 * (W - 2 * M), pw = (right - left) / w0 * (W - 2 * M);
    f.r.setAttribute('x', px); f.r.setAttribute('width', Math.max(pw - 0.5, 0.2)); f.t.setAttribute('x', px + 3);
    const fits = Math.floor((pw - 6) / C);
    f.t.textContent = fits >= f.n.length ? f.n : fits > 3 ? f.n.slice(0, fits - 2) + '..' : '';
    f.g.style.opacity = f.d < d0 ? 0.5 : 1;
  }
}
for (const f of all) f.g.addEventListener('click', () => show(f.x, f.w, f.d));
document.getElementById('reset').addEventListener('click', () => show(0, 1, 0));
document.getElementById('search').addEventListener('click', () => {
  const what = prompt('Functions or files that match (regular expression; empty: none):', '');
  if (what === null) return;
  let share = 0, end = 0;
  const pattern = what ? new RegExp(what, 'i') : null;
  for (const f of [...all].sort((a, b) => a.x - b.x || a.d - b.d)) {
    const hit = pattern !== null && pattern.test(f.n);
    f.r.style.fill = hit ? 'rgb(230,0,230)' : '';
    if (hit && f.x + f.w > end) { share += f.x + f.w - Math.max(f.x, end); end = f.x + f.w; }
  }
  document.getElementById('matched').textContent = what ? (100 * share).toFixed(1) + ' %% matched' : '';
});
"""


_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class _Node:
    samples: int = 0
    children: dict[Frame, _Node] = field(default_factory=dict)


def flame_graph(stacks: Iterable[Stack], title: str, subtitle: str) -> str:
    """The SVG's text."""
    root = _Node()
    for stack in stacks:
        root.samples += 1
        node = root
        for frame in stack:
            node = node.children.setdefault(frame, _Node())
            node.samples += 1
    boxes = list(_boxes(root))
    depth = max((box[0] for box in boxes), default=0)
    height = _HEAD + (depth + 1) * _ROW + _MARGIN
    legend = "".join(
        f'<rect x="{WIDTH - 480 + 90 * at}" y="34" width="12" height="12" fill="{_colour(package + "/", 0)}"/>'
        f'<text x="{WIDTH - 464 + 90 * at}" y="45">{package}</text>'
        for at, package in enumerate((*_HUES, "other"))
    )
    script = _SCRIPT % {"width": WIDTH, "margin": _MARGIN, "character": _CHARACTER}
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" ',
            f'width="{WIDTH}" height="{height}"><style>{_STYLE}</style>',
            f'<rect width="{WIDTH}" height="{height}" fill="#fdfdfb"/>',
            f'<text x="{_MARGIN}" y="24" style="font-size: 18px; font-weight: bold">{escape(title)}</text>',
            f'<text x="{_MARGIN}" y="45">{escape(subtitle)}</text>{legend}',
            f'<text id="reset" class="b" x="{_MARGIN}" y="66">show all</text>'
            f'<text id="search" class="b" x="{_MARGIN + 80}" y="66">search</text>'
            f'<text id="matched" x="{_MARGIN + 150}" y="66"></text>',
            *(_drawn(box, root.samples) for box in boxes),
            f"<script><![CDATA[{script}]]></script></svg>\n",
        )
    )


def escape(text: str) -> str:
    """Text for XML, whatever is in it: a sampler that does not stop what it reads may see half a name."""
    return escaped(_NO_CHARACTER.sub("\ufffd", text))


def _boxes(root: _Node) -> Iterator[tuple[int, int, int, Frame]]:
    """(depth, first sample, samples, frame) of every box that is wide enough to be seen."""
    least = _LEAST_WIDTH / (WIDTH - 2 * _MARGIN) * root.samples
    yield 0, 0, root.samples, Frame("all samples")
    waiting = [(1, 0, root)]
    while waiting:
        depth, start, parent = waiting.pop()
        for frame, node in sorted(parent.children.items()):
            if node.samples >= least:
                yield depth, start, node.samples, frame
                waiting.append((depth + 1, start, node))
            start += node.samples


def _drawn(box: tuple[int, int, int, Frame], of: int) -> str:
    depth, start, samples, frame = box
    of = max(of, 1)
    label = str(frame)
    x, width = start / of, samples / of
    left, wide, top = _MARGIN + x * (WIDTH - 2 * _MARGIN), width * (WIDTH - 2 * _MARGIN), _HEAD + depth * _ROW
    fits = int((wide - 6) / _CHARACTER)
    text = label if fits >= len(label) else label[: fits - 2] + ".." if fits > 3 else ""
    tip = f"{label}: {samples:,} of {of:,} samples, {100 * width:.2f} %"
    return (
        f'<g class="f" data-x="{x:.9f}" data-w="{width:.9f}" data-d="{depth}" data-n="{escape(label)}">'
        f'<title>{escape(tip)}</title><rect x="{left:.2f}" y="{top}" width="{max(wide - 0.5, 0.2):.2f}" '
        f'height="{_ROW - 1}" fill="{_colour(frame.file, crc32(label.encode(errors="replace")))}"/>'
        f'<text x="{left + 3:.2f}" y="{top + 13}">{escape(text)}</text></g>'
    )


def _colour(file: str, salt: int) -> str:
    hue = _HUES.get(file.split("/", 1)[0])
    lightness = 68 + salt % 12
    return f"hsl(0,0%,{lightness + 8}%)" if hue is None else f"hsl({hue},{65 + salt // 16 % 20}%,{lightness}%)"
