"use strict";
// Multiply-accumulates a cycle over multiply-accumulates a byte, both logarithmic, under the roof.

function drawRoofline(figure) {
  const placed = report.layers.filter((layer) => layer.roofline);
  const link = report.device.links[report.device.links.length - 1];
  const peak = report.device.peak_macs;
  const xs = placed.map((layer) => layer.roofline.macs_per_byte);
  const ys = placed.map((layer) => layer.roofline.macs_per_cycle);
  const ridge = peak / link.bytes_per_cycle;
  const xFrom = Math.min(...xs, ridge / 4) / 1.5, xTo = Math.max(...xs, ridge * 4) * 1.5;
  const yFrom = Math.min(...ys, peak / 8) / 1.5, yTo = peak * 1.8;

  onWidth(figure, (width) => {
    figure.replaceChildren();
    const height = Math.min(440, Math.max(280, width * 0.5));
    const box = { left: 44, right: width - 10, top: 22, bottom: height - 42 };
    const toX = (x) => box.left + ((box.right - box.left) * Math.log(x / xFrom)) / Math.log(xTo / xFrom);
    const toY = (y) => box.bottom - ((box.bottom - box.top) * Math.log(y / yFrom)) / Math.log(yTo / yFrom);
    const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "group",
      "aria-label": "Roofline of the layers; the table below has the same numbers" }, figure);
    for (const at of logarithmicTicks(xFrom, xTo)) {
      svg("path", { d: `M${toX(at)} ${box.top}V${box.bottom}`, class: "axis" }, image);
      svg("text", { x: toX(at), y: box.bottom + 16, "text-anchor": "middle", class: "soft" }, image, short(at));
    }
    for (const at of logarithmicTicks(yFrom, yTo)) {
      svg("path", { d: `M${box.left} ${toY(at)}H${box.right}`, class: "axis" }, image);
      svg("text", { x: box.left - 6, y: toY(at) + 4, "text-anchor": "end", class: "soft" }, image, short(at));
    }
    svg("text", { x: box.right, y: height - 8, "text-anchor": "end" }, image, "multiply-accumulates for a byte");
    svg("text", { x: 0, y: 12 }, image, "multiply-accumulates a cycle");

    const xOfFoot = Math.max(xFrom, yFrom / link.bytes_per_cycle);
    const foot = [toX(xOfFoot), toY(xOfFoot * link.bytes_per_cycle)];
    svg("path", { d: `M${foot[0]} ${foot[1]}L${toX(ridge)} ${toY(peak)}H${box.right}`, class: "roof" }, image);
    svg("text", { x: box.right, y: toY(peak) - 7, "text-anchor": "end" }, image, `array: ${count(peak)} a cycle`);
    const middle = [(foot[0] + toX(ridge)) / 2, (foot[1] + toY(peak)) / 2];
    const slope = (Math.atan2(toY(peak) - foot[1], toX(ridge) - foot[0]) * 180) / Math.PI;
    svg("text", { x: 0, y: -7, "text-anchor": "middle",
      transform: `translate(${middle[0]} ${middle[1]}) rotate(${slope})` }, image,
      `${link.title}: ${link.bytes_per_cycle} bytes a cycle`);

    const marks = placed.map((layer) => [layer, toX(layer.roofline.macs_per_byte), toY(layer.roofline.macs_per_cycle)]);
    const taken = marks.map(([, x, y]) => [x - 5, y - 5, x + 5, y + 5]);
    taken.push([toX(ridge), toY(peak) - 20, box.right, toY(peak) + 1]);
    for (const [layer, x, y] of marks) {
      const anchor = svg("a", { href: "#layer-" + layer.number }, image);
      svg("title", {}, anchor, `${layer.number} ${layer.name}: ${layer.roofline.macs_per_cycle.toFixed(1)} a cycle, ` +
        `${layer.roofline.macs_per_byte.toFixed(1)} for a byte; bound by ${layer.bounds.largest}`);
      svg("path", { d: markPath(layer.bounds.largest, x, y), class: "mark" }, anchor);
      label(String(layer.number), x, y, taken, box, anchor);
    }
  });
}

const short = (value) => (value >= 1 ? count(value) : value >= 0.01 ? String(+value.toPrecision(2)) : value.toExponential(0));

function markPath(bound, x, y) {
  if (bound === "memory") return `M${x} ${y - 7}L${x + 6.5} ${y + 5}H${x - 6.5}Z`;
  if (bound === "host") return `M${x - 5} ${y - 5}h10v10h-10Z`;
  return `M${x - 5.5} ${y}a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0Z`;
}

// Beside its mark, where no other mark or label is; farther away with a line to it where it is crowded.
function label(text, x, y, taken, box, parent) {
  const width = 7 * text.length + 2;
  for (const far of [0, 16, 32, 48, 64, 80, 96]) {
    const near = far === 0;
    const places = near
      ? [[x + 7, y - 7], [x - 7 - width, y - 7], [x - width / 2, y + 7], [x - width / 2, y - 21]]
      : [[x - width / 2, y + 7 + far], [x + 7 + far / 2, y + far], [x - 7 - width - far / 2, y + far], [x - 7 - width - far, y - 7]];
    for (const [left, top] of places) {
      const mine = [left, top, left + width, top + 14];
      if (left < box.left || mine[2] > box.right || mine[3] > box.bottom) continue;
      if (taken.some((other) => mine[0] < other[2] && other[0] < mine[2] && mine[1] < other[3] && other[1] < mine[3])) continue;
      taken.push(mine);
      if (!near) svg("path", { d: `M${x} ${y}L${left + width / 2} ${top + (top > y ? 2 : 12)}`, class: "axis" }, parent);
      svg("text", { x: left + 1, y: top + 11 }, parent, text);
      return;
    }
  }
}
