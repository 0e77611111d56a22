// The fleet: a stream of agents as they change, drawn at most once a frame.

import { groups } from "./agent.js";
import { Detail } from "./detail.js";
import { follow } from "./stream.js";
import { Table } from "./table.js";

const AGES_MS = 10000;

const byId = (id) => document.getElementById(id);
const agents = new Map();
const detail = new Detail(byId("detail"));
const table = new Table(byId("agents"), byId("head"), byId("rows"), open);
let group = groups[0];
let drawing = false;

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    drawNow();
  });
}

function drawNow() {
  const text = byId("search").value.trim().toLowerCase();
  const mode = byId("mode").value;
  const all = [...agents.values()];
  const shown = all.filter((a) => group.has(a) && a.name.includes(text) && (mode === "" || a.mode === mode));
  table.show(shown);
  byId("empty").hidden = shown.length > 0;
  setText(byId("count"), shown.length + " of " + all.length + " agents");
  groups.forEach((g, i) => showTile(byId("tiles").children[i].firstChild, g, all));
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showTile(button, g, all) {
  const count = all.reduce((sum, agent) => sum + (g.has(agent) ? 1 : 0), 0);
  setText(button.firstChild, String(count));
  button.firstChild.className = count > 0 && g.tone ? g.tone : "";
  button.setAttribute("aria-pressed", String(g === group));
}

function makeTile(g) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.append(document.createElement("strong"), g.title);
  button.addEventListener("click", () => {
    group = g;
    draw();
  });
  item.append(button);
  return item;
}

function open(name) {
  if (agents.has(name)) detail.open(agents.get(name));
}

function close() {
  detail.close();
  byId("agents").focus();
}

const onEvent = {
  principal(principal) {
    setText(byId("principal"), "principal " + principal.version + ", over " + principal.transport +
      (principal.ready ? ", ready" : ", not ready: " + principal.why));
  },
  // All that follow are the whole fleet: agents that are not among them have gone.
  begin() {
    agents.clear();
  },
  agents(changed) {
    for (const agent of changed) agents.set(agent.name, agent);
    if (detail.name !== null && agents.has(detail.name)) detail.update(agents.get(detail.name));
    draw();
  },
  gone(names) {
    for (const name of names) agents.delete(name);
    if (detail.name !== null && !agents.has(detail.name)) close();
    draw();
  },
};

function askForToken() {
  const dialog = byId("login");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", byId("token").value);
      byId("token").value = "";
      resolve();
    }, { once: true });
  });
}

function onState(state) {
  if (state === "denied") return askForToken();
  byId("connection").textContent = state === "open" ? "live" : "connection lost, trying again; what is shown may be old";
  byId("connection").className = state === "open" ? "good" : "bad";
  return undefined;
}

function onKey(event) {
  const typing = event.target.matches("input, select");
  if (event.key === "/" && !typing) {
    byId("search").focus();
    event.preventDefault();
  } else if (event.key === "Escape" && detail.name !== null) {
    close();
  } else if ((event.key === "ArrowDown" || event.key === "Enter") && event.target === byId("search")) {
    byId("agents").focus();
    table.move(0);
    event.preventDefault();
  }
}

byId("tiles").append(...groups.map(makeTile));
byId("search").addEventListener("input", draw);
byId("mode").addEventListener("change", draw);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("close").addEventListener("click", close);
document.addEventListener("keydown", onKey);
table.onSort = draw;
setInterval(draw, AGES_MS); // ages grow without an event
follow("api/stream", (name, data) => onEvent[name]?.(data), onState);
