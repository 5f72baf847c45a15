"use strict";
// Which rows of a memory were in use over time: rows from top to bottom, darker where more of them were.

const BAND_HEIGHT = 2;

class MemoryChart {
  constructor(holder, memory, range) {
    this.memory = memory;
    this.range = range;
    const figure = html("figure", {}, holder);
    html("figcaption", {}, figure, `${memory.name}: rows 0 to ${count(memory.rows - 1)} from top to bottom, ` +
      `${count(memory.row_bytes)} bytes each` + (memory.bank_rows < memory.rows
      ? ` in banks of ${count(memory.bank_rows)}` : "") + `; at most ${count(memory.most)} in use at once ` +
      `(${percent(memory.most / memory.rows)}), ${count(memory.average)} on average`);
    this.canvas = html("canvas", { role: "img", "aria-label": `Rows of the ${memory.name} in use over time` }, figure);
  }

  draw() {
    const { levels, edges } = this.memory;
    const density = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * density));
    const band = BAND_HEIGHT * Math.max(1, Math.round(density));
    this.canvas.width = width;
    this.canvas.height = levels.length * band;
    this.canvas.style.height = levels.length * BAND_HEIGHT + "px";
    const context = this.canvas.getContext("2d");
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--used");
    const toX = (cycle) => (width * (cycle - this.range.from)) / (this.range.to - this.range.from);
    for (let column = 0; column + 1 < edges.length; ++column) {
      const left = Math.floor(toX(edges[column])), right = Math.ceil(toX(edges[column + 1]));
      if (right < 0 || left > width) continue;
      levels.forEach((texts, row) => {
        const level = +texts[column];
        if (!level) return;
        context.fillStyle = `rgba(${ink}, ${0.15 + (0.85 * level) / 9})`;
        context.clearRect(left, row * band, right - left, band);
        context.fillRect(left, row * band, right - left, band);
      });
    }
  }

  // In words: how much of a band of rows was in use about a cycle.
  words(cycle, y) {
    const { levels, edges, rows, band_rows } = this.memory;
    const band = Math.max(0, Math.min(levels.length - 1, Math.floor(y / BAND_HEIGHT)));
    const column = Math.max(0, Math.min(edges.length - 2, edges.findIndex((edge) => edge > cycle) - 1));
    const level = +levels[band][column];
    const last = Math.min(rows, (band + 1) * band_rows) - 1;
    const share = level === 0 ? "not in use" : level === 9 ? "over 89 % in use" : `up to ${percent(level / 9)} in use`;
    return `${this.memory.name}, rows ${count(band * band_rows)} to ${count(last)}, cycles ${count(edges[column])} to ` +
      `${count(edges[column + 1])}: ${share}.`;
  }
}
