"use strict";
// What the reader does on the page: colours, filters, order, opening layers.

function overTime(details) {
  const holder = details.querySelector(".over-time-here");
  const layer = report.layers[+details.dataset.layer];
  if (!holder || holder.childElementCount) return;
  const controls = html("div", { class: "controls" }, holder);
  const readout = html("div", { class: "readout", "aria-live": "polite" }, holder, "Point at a picture to read it.");
  const parts = [];
  const draw = () => {
    const width = holder.clientWidth;
    if (!width) return;
    for (const part of parts) part.draw(width);
  };
  const range = new TimeWindow(layer.over_time.cycles, draw);
  for (const [text, title, act] of [
    ["+", "Nearer", () => range.zoom(0.5)], ["−", "Farther", () => range.zoom(2)],
    ["←", "Earlier", () => range.move(-0.4)], ["→", "Later", () => range.move(0.4)],
    ["Whole run", "All cycles", () => range.whole()],
  ]) {
    html("button", { type: "button", title, "aria-label": title }, controls, text).addEventListener("click", act);
  }
  const lanes = new LanesChart(holder, layer.over_time, range);
  const memories = layer.over_time.memories.map((memory) => new MemoryChart(holder, memory, range));
  parts.push(lanes, ...memories);
  html("p", { class: "quiet" }, holder, lanes.notes() + (memories.length
    ? " A row is in use from when data begin to come into it until they are read for the last time." : ""));
  const at = (share) => Math.floor(range.from + share * (range.to - range.from));
  range.listen(lanes.image, (share) => {
    if (share !== null) readout.textContent = lanes.words(at(share));
  });
  for (const memory of memories) {
    range.listen(memory.canvas, (share, y) => {
      if (share !== null) readout.textContent = memory.words(at(share), y);
    });
  }
  onWidth(holder, draw);
  redraws.push(draw);
}

const redraws = []; // what a change of colours is not seen by

function openNamed() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.matches("details.layer")) {
    target.open = true;
    overTime(target); // its height counts for where the page goes
    target.scrollIntoView();
  }
}

function chooseTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
  }
  for (const draw of redraws) draw();
}

function filterLayers() {
  const text = document.getElementById("filter-text").value.trim().toLowerCase();
  const bound = document.getElementById("filter-bound").value;
  const rows = [...document.querySelectorAll("#layer-table tbody tr")];
  for (const row of rows) {
    row.hidden = !row.dataset.name.toLowerCase().includes(text) || (bound !== "" && row.dataset.bound !== bound);
  }
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById("filter-count").textContent = `${shown} of ${rows.length} layers`;
}

function filterGraph() {
  const where = document.getElementById("filter-where").value;
  const rows = [...document.querySelectorAll(".graph li")];
  for (const row of rows) row.hidden = where !== "" && !row.classList.contains(where);
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById("where-count").textContent = `${shown} of ${rows.length} parts`;
}

function sortBy(header) {
  const table = header.closest("table");
  const column = [...header.parentElement.children].indexOf(header);
  const isUp = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", isUp ? "ascending" : "descending");
  const value = (row) => row.children[column].dataset.value;
  const order = (a, b) => {
    const [x, y] = [value(a), value(b)];
    const difference = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
    return isUp ? difference : -difference;
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
}

function start() {
  addPatterns();
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.addEventListener("click", () => chooseTheme(button.dataset.themeChoice));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((draw) => draw()));
  const roofline = document.getElementById("roofline-chart");
  if (roofline) drawRoofline(roofline);
  if (document.getElementById("layer-table")) {
    document.getElementById("filter-text").addEventListener("input", filterLayers);
    document.getElementById("filter-bound").addEventListener("change", filterLayers);
    for (const header of document.querySelectorAll("#layer-table th")) {
      header.querySelector("button").addEventListener("click", () => sortBy(header));
    }
    filterLayers();
  }
  if (document.getElementById("filter-where")) {
    document.getElementById("filter-where").addEventListener("change", filterGraph);
    filterGraph();
  }
  const search = document.getElementById("search-curves");
  if (search) drawSearch(search);
  for (const details of document.querySelectorAll("details.layer")) {
    details.addEventListener("toggle", () => details.open && overTime(details));
  }
  addEventListener("hashchange", openNamed);
  // A link to the layer that is named already changes nothing, and opens it all the same.
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest("a[href^='#layer-'], svg a");
    if (anchor && anchor.getAttribute("href") === location.hash) openNamed();
  });
  openNamed();
}

start();
