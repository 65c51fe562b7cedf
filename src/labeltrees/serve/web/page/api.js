// Requests to the server, with a key if it needs one.

export class Problem extends Error {
  constructor(status, detail, seconds = 0) {
    super(detail);
    this.status = status;
    this.seconds = seconds; // to wait before the next try
  }
}

const KEPT = "labeltrees-key";
let key = read();
let keyNeeded = () => {};

function read() {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

export function useKey(text) {
  key = text;
  try {
    if (text) sessionStorage.setItem(KEPT, text);
    else sessionStorage.removeItem(KEPT);
  } catch {
    // Storage may be forbidden; the key then lasts as long as the page.
  }
}

export const hasKey = () => key !== "";
export const whenKeyIsNeeded = (act) => (keyNeeded = act);

async function send(method, path, { body, headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (key) sent.Authorization = `Bearer ${key}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers: sent, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not respond. Is it still running?");
  }
  const text = await response.text();
  let content = {};
  try {
    content = text ? JSON.parse(text) : {};
  } catch {
    throw new Problem(response.status, `The response (${response.status}) is not JSON.`);
  }
  if (response.ok) return content;
  const problem = new Problem(response.status, content.detail ?? `The server returned ${response.status}.`, Number(response.headers.get("Retry-After") ?? 0));
  if (problem.status === 401) keyNeeded(problem);
  throw problem;
}

const at = (model, rest = "") => `/v1/models/${encodeURIComponent(model)}${rest}`;
const post = (path, body, more) => send("POST", path, { body, ...more });

export const models = () => send("GET", "/v1/models");
export const about = (model) => send("GET", at(model));
export const quality = (model) => send("GET", at(model, "/quality"));
export const predict = (model, body, signal) => post(at(model, "/predict"), body, { signal });
export const complete = (model, body, signal) => post(at(model, "/complete"), body, { signal });
export const explain = (model, body, signal) => post(at(model, "/explain"), body, { signal });
export const tree = (model, query) => send("GET", at(model, `/tree?${new URLSearchParams(query)}`));
export const labels = (model, containing, most, signal) => send("GET", at(model, `/labels?${new URLSearchParams({ containing, most })}`), { signal });
export const makeModel = (model, learns, method) => send("PUT", at(model), { body: { learns, method } });

// Sends examples to learn. Without a response they are sent once more with the same key, so that the
// server does not learn them twice.
export async function learn(model, examples) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const name = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const sendExamples = () => post(at(model, "/learn"), { examples }, { headers: { "Idempotency-Key": name } });
  try {
    return await sendExamples();
  } catch (problem) {
    if (problem.status !== 0) throw problem;
    return sendExamples();
  }
}
