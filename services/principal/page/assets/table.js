// The table of agents. Only the rows that can be seen are in the document, so that thousands cost what a screen costs.

import { columns } from "./agent.js";

const MARGIN = 8; // rows beyond the edges

export class Table {
  constructor(box, head, body, onOpen) {
    this.box = box;
    this.body = body;
    this.shown = [];
    this.selected = null;
    this.sort = { column: 0, down: false };
    this.rows = new Map(); // name -> its element
    this.onOpen = onOpen;
    this.onSort = () => {};
    this.makeHead(head);
    box.addEventListener("scroll", () => this.paint(), { passive: true });
    box.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.paint()).observe(box);
  }

  makeHead(head) {
    this.titles = columns.map((column, i) => {
      const cell = document.createElement("div");
      const button = document.createElement("button");
      cell.setAttribute("role", "columnheader");
      button.type = "button";
      button.tabIndex = -1;
      button.textContent = column.title;
      button.addEventListener("click", () => this.sortBy(i));
      cell.append(button);
      head.append(cell);
      return cell;
    });
    this.showSort();
  }

  showSort() {
    this.titles.forEach((cell, i) => {
      const on = i === this.sort.column;
      cell.setAttribute("aria-sort", !on ? "none" : this.sort.down ? "descending" : "ascending");
      cell.firstChild.textContent = columns[i].title + (!on ? "" : this.sort.down ? " ↓" : " ↑");
    });
  }

  sortBy(column) {
    this.sort = { column, down: this.sort.column === column ? !this.sort.down : Boolean(columns[column].number) };
    this.showSort();
    this.onSort();
  }

  // Show these agents. The array is sorted in place.
  show(agents) {
    const { value } = columns[this.sort.column];
    const sign = this.sort.down ? -1 : 1;
    const keyed = agents.map((agent) => [value(agent), agent]);
    keyed.sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x.name < y.name ? -1 : 1));
    this.shown = keyed.map(([, agent]) => agent);
    this.box.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.paint();
  }

  height() {
    return parseFloat(getComputedStyle(this.body).getPropertyValue("--row")) * 16;
  }

  paint() {
    const height = this.height();
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - MARGIN);
    const last = Math.min(this.shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + MARGIN);
    const left = new Set(this.rows.keys());
    this.body.style.height = this.shown.length * height + "px";
    for (let i = first; i < last; i++) {
      this.paintRow(this.shown[i], i, height);
      left.delete(this.shown[i].name);
    }
    for (const name of left) {
      this.rows.get(name).remove();
      this.rows.delete(name);
    }
  }

  makeRow(name) {
    const row = document.createElement("div");
    row.setAttribute("role", "row");
    row.id = "agent-" + name;
    for (let i = 0; i < columns.length; i++) {
      const cell = document.createElement("div");
      cell.setAttribute("role", "gridcell");
      row.append(cell);
    }
    row.addEventListener("click", () => this.select(name, true));
    this.rows.set(name, row);
    this.body.append(row);
    return row;
  }

  paintRow(agent, index, height) {
    const row = this.rows.get(agent.name) ?? this.makeRow(agent.name);
    row.style.top = index * height + "px";
    row.setAttribute("aria-rowindex", String(index + 2));
    row.setAttribute("aria-selected", String(agent.name === this.selected));
    columns.forEach((column, i) => {
      const cell = row.children[i];
      const text = column.text(agent);
      if (cell.textContent !== text) cell.textContent = text;
      cell.className = (column.number ? "number " : "") + (column.tone ? column.tone(agent) : "");
    });
  }

  select(name, open) {
    this.selected = name;
    this.box.setAttribute("aria-activedescendant", "agent-" + name);
    this.paint();
    if (open) this.onOpen(name);
  }

  move(to) {
    const index = Math.max(0, Math.min(this.shown.length - 1, to));
    if (this.shown.length === 0) return;
    const height = this.height();
    const top = index * height;
    const room = this.box.clientHeight - 2 * height; // without the head
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top > this.box.scrollTop + room) this.box.scrollTop = top - room;
    this.select(this.shown[index].name, false);
  }

  onKey(event) {
    const at = this.shown.findIndex((agent) => agent.name === this.selected);
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height()) - 2);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0,
      End: this.shown.length - 1 };
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "Enter" && at >= 0) this.onOpen(this.selected);
    else return;
    event.preventDefault();
  }
}
