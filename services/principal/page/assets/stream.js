// Server-sent events by fetch, because EventSource cannot send a token. A stream that ends is opened again, later and
// later, and not by all pages at the same moment.

import { ask } from "./api.js";

const WAIT_MS = 1000;
const WAIT_MAX_MS = 30000;

// One event: its name, and its data as JSON. Lines that begin with ":" keep the connection alive.
function tell(text, onEvent) {
  let name = "message";
  const data = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length > 0) onEvent(name, JSON.parse(data.join("\n")));
}

async function read(response, onEvent) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) tell(part, onEvent);
  }
}

// Why an answer has no events, in the words of whoever refused.
async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return "HTTP " + response.status + " " + text.trim().slice(0, 200);
  }
}

async function followOnce(path, on, signal) {
  const response = await ask(path, signal);
  if (!response.ok) {
    const why = await reason(response);
    return { again: response.status === 401 && (await on.onDenied(why)), why: "refused: " + why };
  }
  on.onOpen();
  await read(response, on.onEvent);
  return { opened: true, why: "connection lost" };
}

// Follow a path until `signal` aborts. on: onEvent(name, data), onOpen(), onClosed(why), and onDenied(why), which says
// whether to ask again at once.
export async function follow(path, on, signal) {
  let wait = WAIT_MS;
  while (!signal.aborted) {
    const { again, opened, why } = await followOnce(path, on, signal).catch(() => ({ why: "connection lost" }));
    if (again || signal.aborted) continue;
    on.onClosed(why);
    if (opened) wait = WAIT_MS;
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    wait = Math.min(2 * wait, WAIT_MAX_MS);
  }
}
