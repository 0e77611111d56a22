// The fleet: a stream of agents as they change, drawn at most once a frame.

import { groups } from "./agent.js";
import { Detail } from "./detail.js";
import { follow } from "./stream.js";
import { Table } from "./table.js";

const AGES_MS = 10000;

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

class Fleet {
  constructor(root) {
    this.root = root;
    this.agents = new Map();
    this.group = groups[0];
    this.drawing = false;
    this.detail = new Detail(this.byId("detail"));
    this.table = new Table(this.byId("agents"), this.byId("head"), this.byId("rows"), (name) => this.open(name));
    this.table.onSort = () => this.draw();
    this.byId("tiles").append(...groups.map((g) => this.makeTile(g)));
    this.byId("search").addEventListener("input", () => this.draw());
    this.byId("mode").addEventListener("change", () => this.draw());
    this.byId("filters").addEventListener("submit", (event) => event.preventDefault());
    this.byId("close").addEventListener("click", () => this.close());
    root.addEventListener("keydown", (event) => this.onKey(event));
  }

  byId(id) {
    return this.root.getElementById(id);
  }

  draw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.drawNow();
    });
  }

  drawNow() {
    const text = this.byId("search").value.trim().toLowerCase();
    const mode = this.byId("mode").value;
    const all = [...this.agents.values()];
    const shown = all.filter((a) => this.group.has(a) && a.name.includes(text) && (mode === "" || a.mode === mode));
    this.table.show(shown);
    this.byId("empty").hidden = shown.length > 0;
    setText(this.byId("count"), shown.length + " of " + all.length + " agents");
    groups.forEach((g, i) => this.showTile(this.byId("tiles").children[i].firstChild, g, all));
  }

  showTile(button, g, all) {
    const count = all.reduce((sum, agent) => sum + (g.has(agent) ? 1 : 0), 0);
    setText(button.firstChild, String(count));
    button.firstChild.className = count > 0 && g.tone ? g.tone : "";
    button.setAttribute("aria-pressed", String(g === this.group));
  }

  makeTile(g) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.append(document.createElement("strong"), g.title);
    button.addEventListener("click", () => {
      this.group = g;
      this.draw();
    });
    item.append(button);
    return item;
  }

  open(name) {
    if (this.agents.has(name)) this.detail.open(this.agents.get(name));
  }

  close() {
    this.detail.close();
    this.byId("agents").focus();
  }

  onEvent(name, data) {
    if (name === "principal") this.showPrincipal(data);
    else if (name === "begin") this.agents.clear(); // all that follow are the whole fleet
    else if (name === "agents") this.update(data);
    else if (name === "gone") this.remove(data);
  }

  showPrincipal(principal) {
    setText(this.byId("principal"), "principal " + principal.version + ", over " + principal.transport +
      (principal.ready ? ", ready" : ", not ready: " + principal.why));
  }

  update(changed) {
    const { detail } = this;
    for (const agent of changed) this.agents.set(agent.name, agent);
    if (detail.name !== null && this.agents.has(detail.name)) detail.update(this.agents.get(detail.name));
    this.draw();
  }

  remove(names) {
    for (const name of names) this.agents.delete(name);
    if (this.detail.name !== null && !this.agents.has(this.detail.name)) this.close();
    this.draw();
  }

  showConnection(open, why) {
    setText(this.byId("connection"), open ? "live" : why);
    this.byId("connection").className = open ? "good" : "bad";
  }

  onKey(event) {
    const typing = event.target.matches("input, select");
    if (event.key === "/" && !typing) {
      this.byId("search").focus();
      event.preventDefault();
    } else if (event.key === "Escape" && this.detail.name !== null) {
      this.close();
    } else if ((event.key === "ArrowDown" || event.key === "Enter") && event.target === this.byId("search")) {
      this.byId("agents").focus();
      this.table.move(0);
      event.preventDefault();
    }
  }
}

// Show the fleet in `root`, a document or a shadow root with the elements of page.html, until `signal` aborts.
// onDenied(): whether to ask again at once; a promise of it is waited for.
export function showFleet(root, onDenied, signal) {
  const fleet = new Fleet(root);
  const ages = setInterval(() => fleet.draw(), AGES_MS); // they grow without an event
  signal.addEventListener("abort", () => {
    clearInterval(ages);
    fleet.detail.close();
  });
  follow("api/stream", {
    onEvent: (name, data) => fleet.onEvent(name, data),
    onOpen: () => fleet.showConnection(true),
    onClosed: (why) => fleet.showConnection(false, why + ", trying again; what is shown may be old"),
    onDenied(why) {
      fleet.showConnection(false, "refused: " + why);
      return onDenied();
    },
  }, signal);
}
