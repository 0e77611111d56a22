// Server-sent events by fetch, because EventSource cannot send a token. A stream that ends is opened again, later and
// later, and not by all pages at the same moment.

const WAIT_MS = 1000;
const WAIT_MAX_MS = 30000;

export function authorization() {
  const token = sessionStorage.getItem("token");
  return token === null ? {} : { Authorization: "Bearer " + token };
}

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

// Follow url for ever. onState(state): "open", "closed", or "denied"; a promise that it returns then is waited for.
export async function follow(url, onEvent, onState) {
  let wait = WAIT_MS;
  for (;;) {
    try {
      const response = await fetch(url, { headers: authorization(), cache: "no-store" });
      if (response.status === 401) {
        await onState("denied");
        continue;
      }
      if (response.ok) {
        wait = WAIT_MS;
        onState("open");
        await read(response, onEvent);
      }
    } catch {
      // The principal is away; what follows is the same for each reason.
    }
    onState("closed");
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    wait = Math.min(2 * wait, WAIT_MAX_MS);
  }
}
