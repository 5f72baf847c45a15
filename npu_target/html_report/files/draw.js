"use strict";
// What all charts need: elements, scales, numbers in words. Texts are set as text, never as markup.

const report = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

function html(name, attributes, parent, text) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

const count = (value) => Math.round(value).toLocaleString("en-US");
const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0) + " %";

// Numbers at which an axis from `from` to `to` is marked: about so many, at 1, 2 or 5 times a power of 10.
function ticks(from, to, wanted) {
  const raw = (to - from) / Math.max(1, wanted);
  if (!(raw > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(1, power * [1, 2, 5, 10].find((factor) => factor * power >= raw));
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

// Powers of 10 (or of 2, where there are few) from `from` to `to`.
function logarithmicTicks(from, to) {
  const base = to / from > 1e4 ? 10 : to / from > 64 ? 4 : 2;
  const found = [];
  for (let power = Math.ceil(Math.log(from) / Math.log(base) - 1e-9); base ** power <= to * 1.0001; ++power) {
    found.push(base ** power);
  }
  return found;
}

// A reason's look in SVG: its colour and its pattern, as the style sheet has them in HTML.
const LOOKS = 7;
const reasonKeys = report.device.reasons;
const reasonLook = (key) => "url(#reason-" + (reasonKeys.indexOf(key) % LOOKS) + ")";

function addPatterns() {
  const holder = svg("svg", { width: 0, height: 0, "aria-hidden": "true", style: "position:absolute" });
  const marks = [
    null,
    ["path", { d: "M-1 7L7 -1M2 10L10 2M-4 4L4 -4", class: "stripe", "stroke-width": 1.4 }],
    ["path", { d: "M-1 -1L7 7M-4 2L4 10M2 -4L10 4", class: "stripe", "stroke-width": 2.2 }],
    ["path", { d: "M1.5 0V6M4.5 0V6", class: "stripe", "stroke-width": 1.4 }],
    ["path", { d: "M0 1.5H6M0 4.5H6", class: "stripe", "stroke-width": 1.4 }],
    ["circle", { cx: 3, cy: 3, r: 1.4, class: "dot" }],
    ["path", { d: "M0 .5H6M.5 0V6", class: "stripe", "stroke-width": 1 }],
  ];
  marks.forEach((mark, number) => {
    const size = { width: 6, height: 6 };
    const pattern = svg("pattern", { id: "reason-" + number, patternUnits: "userSpaceOnUse", ...size }, holder);
    svg("rect", { ...size, class: "tile-" + number }, pattern);
    if (mark) svg(mark[0], mark[1], pattern);
  });
  document.body.appendChild(holder);
}

// Draws now and whenever the element's width changes.
function onWidth(element, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (element.clientWidth === width || element.clientWidth === 0) return;
    width = element.clientWidth;
    draw(width);
  }).observe(element);
}
