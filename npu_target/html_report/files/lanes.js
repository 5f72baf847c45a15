"use strict";
// A layer's engines over time, and above them the reasons for its cycles.

const REASONS_HEIGHT = 70, LANE_HEIGHT = 16, LABEL_HEIGHT = 17, AXIS_HEIGHT = 22;

// Starts and ends of a lane's intervals, from gap, length, gap, length and so on.
function intervalsOf(lane) {
  const edges = new Float64Array(lane.spans.length);
  lane.spans.reduce((at, length, index) => (edges[index] = at + length), 0);
  return edges;
}

class LanesChart {
  constructor(holder, time, range) {
    this.time = time;
    this.range = range;
    this.edges = time.lanes.map(intervalsOf);
    const legend = html("ul", { class: "legend" }, holder);
    reasonKeys.forEach((key, number) => {
      if (!time.reasons.cycles[key]) return;
      const item = html("li", {}, legend);
      html("i", { class: "reason-" + (number % LOOKS) }, item);
      item.append(report.device.reason_words[key]);
    });
    this.image = svg("svg", { class: "over-time", tabindex: 0, role: "img", "aria-label":
      "What each engine did over time. Arrow keys move, plus and minus zoom, 0 shows all." }, html("figure", {}, holder));
  }

  get height() {
    return AXIS_HEIGHT + LABEL_HEIGHT + REASONS_HEIGHT + this.time.lanes.length * (LABEL_HEIGHT + LANE_HEIGHT) + 4;
  }

  draw(width) {
    const { image, range } = this;
    image.replaceChildren();
    image.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    image.setAttribute("height", this.height);
    this.toX = (cycle) => (width * (cycle - range.from)) / (range.to - range.from);
    for (const at of ticks(range.from, range.to, width / 110)) {
      const x = this.toX(at);
      svg("path", { d: `M${x} 16V${this.height}`, class: "axis" }, image);
      const anchor = x < 30 ? "start" : x > width - 40 ? "end" : "middle";
      svg("text", { x, y: 11, "text-anchor": anchor, class: "soft" }, image, count(at));
    }
    let y = AXIS_HEIGHT;
    svg("text", { x: 0, y: y + 12 }, image, "reasons for the array's cycles");
    y += LABEL_HEIGHT;
    this.drawReasons(y, width);
    y += REASONS_HEIGHT;
    this.time.lanes.forEach((lane, number) => {
      svg("text", { x: 0, y: y + 13 }, image, lane.name);
      svg("text", { x: width, y: y + 13, "text-anchor": "end", class: "soft" }, image, `${percent(lane.busy / this.time.cycles)} busy`);
      y += LABEL_HEIGHT;
      svg("rect", { x: 0, y, width, height: LANE_HEIGHT, class: "lane" }, image);
      svg("path", { d: this.lanePath(this.edges[number], y, width), class: "busy" }, image);
      y += LANE_HEIGHT;
    });
  }

  drawReasons(top, width) {
    const { edges, cycles } = this.time.reasons;
    const paths = {};
    for (let column = 0; column + 1 < edges.length; ++column) {
      const left = this.toX(edges[column]), right = this.toX(edges[column + 1]);
      if (right < 0 || left > width) continue;
      let y = top + REASONS_HEIGHT;
      for (const key of Object.keys(cycles).sort((a, b) => reasonKeys.indexOf(a) - reasonKeys.indexOf(b))) {
        const height = (REASONS_HEIGHT * cycles[key][column]) / (edges[column + 1] - edges[column]);
        if (height <= 0) continue;
        y -= height;
        const [from, to] = [Math.max(0, left), Math.min(width, right)];
        paths[key] = (paths[key] || "") + `M${from.toFixed(2)} ${y.toFixed(2)}h${(to - from).toFixed(2)}v${height.toFixed(2)}H${from.toFixed(2)}Z`;
      }
    }
    for (const [key, d] of Object.entries(paths)) svg("path", { d, fill: reasonLook(key) }, this.image);
  }

  // What is narrower than a third of a pixel is as wide as that, to be seen.
  lanePath(edges, y, width) {
    let d = "";
    for (let index = 0; index < edges.length; index += 2) {
      if (edges[index + 1] < this.range.from) continue;
      if (edges[index] > this.range.to) break;
      const left = Math.max(0, this.toX(edges[index]));
      const right = Math.min(width, Math.max(this.toX(edges[index + 1]), left + 0.34));
      d += `M${left.toFixed(2)} ${y}H${right.toFixed(2)}v${LANE_HEIGHT}H${left.toFixed(2)}Z`;
    }
    return d || "M0 0";
  }

  // In words: what happened in a cycle.
  words(cycle) {
    const busy = this.time.lanes.filter((lane, number) => {
      const edges = this.edges[number];
      let low = 0, high = edges.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (edges[middle] <= cycle) low = middle + 1;
        else high = middle;
      }
      return low % 2 === 1;
    }).map((lane) => lane.name);
    const { edges, cycles } = this.time.reasons;
    const column = Math.max(0, Math.min(edges.length - 2, edges.findIndex((edge) => edge > cycle) - 1));
    const length = edges[column + 1] - edges[column];
    const parts = Object.keys(cycles)
      .map((key) => [cycles[key][column] / length, report.device.reason_words[key]])
      .filter(([share]) => share >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, 3)
      .map(([share, words]) => `${words} ${percent(share)}`);
    return `Cycle ${count(cycle)}. Busy: ${busy.join(", ") || "nothing"}. ` +
      `Cycles ${count(edges[column])} to ${count(edges[column + 1])}: ${parts.join(", ") || "no reasons"}.`;
  }

  notes() {
    const merged = this.time.lanes.filter((lane) => lane.merged);
    const { edges } = this.time.reasons;
    const column = Math.round((edges[edges.length - 1] - edges[0]) / (edges.length - 1));
    return `A column of reasons is about ${count(column)} cycles. ` + (merged.length
      ? "Drawn as one, to fit into a page: pieces of work with at most so many cycles between them: " +
        merged.map((lane) => `${lane.name} ${count(lane.merged)}`).join(", ") + "; how busy a lane is counts without that."
      : "Every piece of work is drawn.");
  }
}
