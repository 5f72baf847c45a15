"use strict";
// The part of a layer's time that its charts show together, and how the reader changes it.

class TimeWindow {
  constructor(cycles, changed) {
    this.cycles = cycles;
    this.changed = changed;
    this.whole();
  }

  whole() {
    this.set(0, this.cycles);
  }

  set(from, to) {
    const least = Math.min(this.cycles, 20);
    const length = Math.min(this.cycles, Math.max(least, to - from));
    this.from = Math.max(0, Math.min(this.cycles - length, from));
    this.to = this.from + length;
    this.changed();
  }

  // Twice as near is a factor of 0.5; what is at `share` of the width stays there.
  zoom(factor, share = 0.5) {
    const at = this.from + share * (this.to - this.from);
    const length = Math.min(this.cycles, Math.max(20, (this.to - this.from) * factor));
    this.set(at - share * length, at - share * length + length);
  }

  move(share) {
    const by = share * (this.to - this.from);
    this.set(this.from + by, this.to + by);
  }

  // Dragging, two fingers, the wheel with Ctrl, and keys change it; `point` is told where the reader
  // points, as a share of the width and a height in pixels, null for nowhere.
  listen(element, point) {
    const fingers = new Map();
    const share = (event) => {
      const box = element.getBoundingClientRect();
      return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    };
    const height = (event) => event.clientY - element.getBoundingClientRect().top - element.clientTop;
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return { apart: Math.max(0.02, Math.abs(a - b)), middle: (a + b) / 2 };
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, share(event));
      point(share(event), height(event));
    });
    element.addEventListener("pointermove", (event) => {
      const now = share(event);
      const before = fingers.get(event.pointerId);
      if (before !== undefined && fingers.size === 1) {
        fingers.set(event.pointerId, now);
        this.move(before - now);
      } else if (before !== undefined) {
        const old = spread();
        fingers.set(event.pointerId, now);
        const next = spread();
        this.move(old.middle - next.middle);
        this.zoom(old.apart / next.apart, next.middle);
      }
      point(now, height(event));
    });
    for (const name of ["pointerup", "pointercancel"]) {
      element.addEventListener(name, (event) => fingers.delete(event.pointerId));
    }
    element.addEventListener("pointerleave", () => {
      if (!fingers.size) point(null, 0);
    });
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.7 : 1 / 0.7, share(event));
    }, { passive: false });
    element.addEventListener("keydown", (event) => {
      const acts = {
        ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
        "+": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.whole(),
      };
      if (event.ctrlKey || event.metaKey || !acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    });
  }
}
