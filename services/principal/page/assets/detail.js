// One agent: its facts, and its objects that are not in effect with their reasons.

import { age, facts } from "./agent.js";
import { ask } from "./api.js";

const AGAIN_MS = 2000;

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function table(titles, rows) {
  if (rows.length === 0) return element("p", "None.");
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  for (const title of titles) {
    const cell = element("th", title);
    cell.scope = "col";
    head.append(cell);
  }
  const body = made.createTBody();
  for (const row of rows) body.insertRow().append(...row.map((text) => element("td", text)));
  return made;
}

function objectName(object) {
  return object.kind + " " + (object.namespace ? object.namespace + "/" : "") + object.name;
}

export class Detail {
  constructor(box) {
    this.box = box;
    this.name = null;
    this.timer = null;
  }

  open(agent) {
    this.name = agent.name;
    this.box.hidden = false;
    this.box.querySelector("#detail-name").textContent = agent.name;
    this.box.querySelector("#pending").replaceChildren();
    this.update(agent);
    this.load();
  }

  close() {
    this.name = null;
    this.box.hidden = true;
    clearTimeout(this.timer);
  }

  // The row of this agent has changed.
  update(agent) {
    const rows = facts(agent).flatMap(([title, text]) => [element("dt", title), element("dd", text)]);
    this.box.querySelector("#facts").replaceChildren(...rows);
  }

  async load() {
    const name = this.name;
    clearTimeout(this.timer);
    try {
      const response = await ask("api/agents/" + encodeURIComponent(name));
      if (response.ok && this.name === name) this.show(await response.json());
    } catch {
      // The line at the top says that the principal is away.
    }
    if (this.name === name) this.timer = setTimeout(() => this.load(), AGAIN_MS);
  }

  show({ objects, objects_left_out: leftOut }) {
    const rows = objects.map((o) => [o.direction === "down" ? "to agent" : "from agent", o.action, objectName(o),
      o.since === null ? "" : age((Date.now() - Date.parse(o.since)) / 1000), o.reason]);
    const made = [table(["Direction", "Action", "Object", "For", "Reason"], rows)];
    if (leftOut > 0) made.push(element("p", "and " + leftOut + " more"));
    this.box.querySelector("#pending").replaceChildren(...made);
  }
}
