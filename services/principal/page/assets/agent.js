// What is shown of an agent: columns, filters, and how values are written.

const DAY_S = 86400;
const EXPIRES_SOON_S = 14 * DAY_S;

export function age(seconds) {
  if (seconds < 60) return Math.floor(seconds) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min";
  if (seconds < DAY_S) return Math.floor(seconds / 3600) + " h " + (Math.floor(seconds / 60) % 60) + " min";
  return Math.floor(seconds / DAY_S) + " d";
}

function now() {
  return Date.now() / 1000;
}

function since(time) {
  return Math.max(0, now() - Date.parse(time) / 1000);
}

function counts(agent) {
  return [agent.pending.down, agent.pending.up].filter((count) => count !== null);
}

function total(agent) {
  return counts(agent).reduce((sum, count) => sum + count.count, 0);
}

function oldest(agent) {
  return Math.max(0, ...counts(agent).filter((count) => count.oldest !== null).map((count) => since(count.oldest)));
}

function held(agent) {
  return agent.held === null ? 0 : agent.held.count;
}

function expiry(agent) {
  return agent.certificate?.expires ? Date.parse(agent.certificate.expires) / 1000 - now() : Infinity;
}

function amount(agent, kind, word) {
  return agent.applications[kind][word] ?? 0;
}

function outOfSync(agent) {
  return amount(agent, "sync", "OutOfSync");
}

// What somebody should look at comes first.
function unhealthy(agent) {
  return amount(agent, "health", "Degraded") + amount(agent, "health", "Missing");
}

const WORDS = ["OutOfSync", "Degraded", "Missing", "Progressing", "Suspended"];

function applicationsText(agent) {
  const { count, sync, health } = agent.applications;
  const words = WORDS.filter((word) => sync[word] || health[word]).map((word) => (sync[word] ?? health[word]) + " " + word);
  return [String(count), ...words].join(", ");
}

function statesText(states) {
  return Object.entries(states).map(([word, count]) => count + " " + word).join(", ") || "none";
}

function state(agent) {
  if (agent.refused) return "refused";
  return agent.connected ? "connected" : "disconnected";
}

function expiryText(agent) {
  const left = expiry(agent);
  if (left === Infinity) return "";
  return left < 0 ? "expired" : "in " + age(left);
}

// Each column: its title, its text, the value that it is sorted by, and its class.
export const columns = [
  { title: "Agent", text: (a) => a.name, value: (a) => a.name },
  { title: "Mode", text: (a) => a.mode ?? "not known", value: (a) => a.mode ?? "" },
  { title: "State", text: state, value: state,
    tone: (a) => (a.refused ? "bad" : a.connected ? "good" : "warn") },
  { title: "Version", text: (a) => a.version ?? "", value: (a) => a.version ?? "" },
  { title: "Not in effect", number: true, value: total,
    text: (a) => (counts(a).length === 0 ? "not known" : total(a) === 0 ? "0" : total(a) + ", oldest " + age(oldest(a))),
    tone: (a) => (total(a) > 0 ? "warn" : "") },
  { title: "Applications", number: true, value: (a) => a.applications.count, text: applicationsText,
    tone: (a) => (unhealthy(a) > 0 ? "bad" : outOfSync(a) > 0 ? "warn" : "") },
  { title: "Held back", number: true, value: held, text: (a) => String(held(a)), tone: (a) => (held(a) > 0 ? "bad" : "") },
  { title: "Certificate", value: expiry, text: expiryText, tone: (a) => (expiry(a) < EXPIRES_SOON_S ? "bad" : "") },
];

// The numbers above the table, each of which selects its agents.
export const groups = [
  { title: "agents", has: () => true },
  { title: "connected", has: (a) => a.connected },
  { title: "disconnected", has: (a) => !a.connected, tone: "warn" },
  { title: "with changes not in effect", has: (a) => total(a) > 0, tone: "warn" },
  { title: "with Applications out of sync", has: (a) => outOfSync(a) > 0, tone: "warn" },
  { title: "with Applications degraded or missing", has: (a) => unhealthy(a) > 0, tone: "bad" },
  { title: "with held deletions", has: (a) => held(a) > 0, tone: "bad" },
  { title: "refused", has: (a) => Boolean(a.refused), tone: "bad" },
  { title: "certificates expire soon", has: (a) => expiry(a) < EXPIRES_SOON_S, tone: "bad" },
];

export function facts(agent) {
  return [
    ["State", agent.refused ? "refused: " + agent.refused : connection(agent)],
    ["Mode", agent.mode ?? "not known yet"],
    ["Version", agent.version ?? "not known yet"],
    ["To the agent", pendingText(agent.pending.down)],
    ["From the agent", pendingText(agent.pending.up)],
    ["Sync status", statesText(agent.applications.sync)],
    ["Health", statesText(agent.applications.health)],
    ["Deletions held back", String(held(agent))],
    ["Secrets that wait", String(agent.secrets_waiting)],
    ["Certificate", agent.certificate ? agent.certificate.sha256 + ", expires " + expiryText(agent) : "not known"],
  ];
}

function connection(agent) {
  if (agent.since === null) return "not heard since the principal started";
  return state(agent) + " for " + age(since(agent.since));
}

function pendingText(count) {
  if (count === null) return "not known yet";
  if (count.count === 0) return "everything is in effect";
  return count.count + " not in effect" + (count.oldest === null ? "" : ", the oldest for " + age(since(count.oldest)));
}
