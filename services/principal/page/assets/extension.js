// The fleet page as a page of Argo CD's web pages. argocd-server passes each request on to the principal, if the person may
// see the Application that the request names and may use this extension.

import { api } from "./api.js";
import { showFleet } from "./fleet.js";
import page from "./page.html";
import style from "./page.css";

const ANOTHER_MS = 1000;
const TRIES = 10; // Applications that are named before somebody is told that they may not

api.base = "extensions/argobus/";

// Applications that this person may see, as Argo CD's stream tells of them: the first comes at once in a fleet of any size.
async function* applications(signal) {
  const fields = ["namespace", "name"].map((name) => "result.application.metadata." + name);
  const response = await fetch("api/v1/stream/applications?fields=" + [...fields, "result.application.spec.project"],
    { headers: { Accept: "text/event-stream" }, signal });
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await lines.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const line of parts.filter((part) => part.startsWith("data: "))) yield JSON.parse(line.slice(6)).result.application;
  }
}

// Gives the requests an Application to name, and the next one when that is refused: its cluster may be unknown.
class Permission {
  constructor(signal) {
    this.signal = signal;
    this.renew();
  }

  renew() {
    this.end?.abort();
    this.end = new AbortController();
    this.signal.addEventListener("abort", () => this.end.abort());
    this.seen = applications(this.end.signal);
    this.named = null;
    this.tries = 0;
  }

  async fields() {
    this.named ??= (await this.seen.next()).value;
    if (!this.named) throw new Error("Argo CD ended its stream of Applications");
    const { metadata, spec } = this.named;
    return { "Argocd-Application-Name": metadata.namespace + ":" + metadata.name, "Argocd-Project-Name": spec.project };
  }

  // Name another one. Gives false when there are no more to try now; the first is named again then.
  async another() {
    const late = new Promise((resolve) => setTimeout(resolve, ANOTHER_MS, { value: null }));
    this.named = (await Promise.race([this.seen.next(), late])).value;
    this.tries++;
    if (this.named && this.tries < TRIES) return true;
    this.renew();
    return false;
  }
}

function draw(box, signal) {
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  const inner = document.createElement("div");
  const sheet = document.createElement("style");
  const permission = new Permission(signal);
  sheet.textContent = style;
  inner.className = "fleet";
  inner.style.height = "100%";
  inner.append(...new DOMParser().parseFromString(page, "text/html").querySelectorAll("header, main"));
  host.style.height = "100%";
  host.style.colorScheme = document.querySelector(".theme-dark") === null ? "light" : "dark";
  root.append(sheet, inner);
  box.append(host);
  signal.addEventListener("abort", () => host.remove());
  api.fields = () => permission.fields();
  root.getElementById("connection").textContent = "looking for an Application that you may see …";
  showFleet(root, () => permission.another(), signal);
}

function ArgobusFleet() {
  const { createElement, useEffect, useRef } = window.React;
  const box = useRef(null);
  useEffect(() => {
    const end = new AbortController();
    draw(box.current, end.signal);
    return () => end.abort();
  }, []);
  return createElement("div", { ref: box, style: { height: "calc(100vh - 6rem)" } });
}

// Argo CD's pages take note of an extension only once their first elements are there, and forget it before.
function register() {
  window.extensionsAPI.registerSystemLevelExtension(ArgobusFleet, "Fleet", "/argobus", "fa-satellite-dish");
}

const pages = document.getElementById("app");
const firstElements = new MutationObserver(() => {
  firstElements.disconnect();
  register();
});
if (pages.childElementCount > 0) register();
else firstElements.observe(pages, { childList: true });
