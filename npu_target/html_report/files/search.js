"use strict";
// The best cycles so far over the measurements of a layer, a small picture for each layer.

function drawSearch(holder) {
  for (const curve of report.search) {
    const layer = report.layers.find((each) => each.name === curve.name);
    const figure = html("figure", {}, holder);
    const caption = html("figcaption", {}, figure);
    html("a", { href: "#layer-" + layer.number }, caption, `${layer.number} ${layer.name}`);
    const chart = html("div", {}, figure);
    onWidth(chart, (width) => drawCurve(chart, curve, layer, width));
  }
}

function drawCurve(chart, curve, layer, width) {
  chart.replaceChildren();
  const height = 118, box = { left: 6, right: width - 6, top: 26, bottom: height - 24 };
  const best = curve.steps[curve.steps.length - 1][1];
  const least = Math.min(best, layer.default_cycles);
  // Small gains look small.
  const range = Math.max(curve.steps[0][1] - least, layer.default_cycles - least, 0.05 * least);
  const toX = (trial) => box.left + ((box.right - box.left) * trial) / Math.max(1, curve.trials);
  const toY = (cycles) => box.bottom - ((box.bottom - box.top) * (cycles - least)) / range;
  const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label":
    `${curve.name}: ${count(curve.steps[0][1])} cycles at first, ${count(best)} after ${curve.trials} measurements` }, chart);
  svg("path", { d: `M${box.left} ${box.bottom + 3}H${box.right}`, class: "axis" }, image);
  const before = toY(layer.default_cycles);
  svg("path", { d: `M${box.left} ${before}H${box.right}`, class: "before" }, image);
  let path = `M${toX(curve.steps[0][0])} ${toY(curve.steps[0][1])}`;
  for (const [trial, cycles] of curve.steps.slice(1)) path += `H${toX(trial)}V${toY(cycles)}`;
  svg("path", { d: path + `H${box.right}`, class: "curve" }, image);
  svg("text", { x: box.left, y: 12, class: "soft" }, image, `default ${count(layer.default_cycles)}`);
  svg("text", { x: box.right, y: 12, "text-anchor": "end" }, image, `best ${count(best)}`);
  const failed = curve.failed ? `, ${count(curve.failed)} failed` : "";
  svg("text", { x: box.right, y: height - 5, "text-anchor": "end", class: "soft" }, image,
    `${count(curve.trials)} measured${failed}`);
  svg("text", { x: box.left, y: height - 5, class: "soft" }, image, "0");
}
