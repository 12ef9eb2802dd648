/**
 * Whether an orchestrator is reachable for a node: over HTTP, then over WebSocket, since a proxy may pass only pages.
 * No hello is sent, so no node is admitted. Foreign answers are read up to a limit and made printable.
 */

import { reachProblem } from "../../address/reach_problem.ts";
import { boundedText, readStatus, type RunStatus } from "../../node/find/run_status.ts";
import { outbound } from "../../program/outbound.ts";
import { hubAddress } from "../../roles/addresses.ts";
import type { HubTrust } from "../../node/find/hub_trust.ts";
import { decimal, duration, plural, printable } from "../../terminal/text/format.ts";
import { type ClockSample, sampleOfDate } from "./clock_check.ts";
import { good, skipped, type Verdict, wrong } from "./verdict.ts";

export const usualHub = "ws://127.0.0.1:9009";

interface HubTarget {
  readonly url: string;
  readonly isNamed: boolean;
  readonly trust: Promise<HubTrust>;
  readonly deadlineMs: number;
}

interface HubProbe {
  readonly verdict: Verdict;
  readonly clock: ClockSample | null;
}

export async function probeHub({ url, isNamed, deadlineMs, trust: opening }: HubTarget): Promise<HubProbe> {
  const address = hubAddress(url);
  const trust = await opening;
  const signal = AbortSignal.timeout(deadlineMs);
  let answer: Answer;
  try {
    answer = await askBest(`${address.http}/status`, { signal, trust });
  } catch (error) {
    if (!isNamed) return { verdict: skipped(`none named, and none at ${usualHub}: --orchestrator URL`), clock: null };
    return { verdict: unreachable(url, { error, deadlineMs }), clock: null };
  }
  const { date, sentMs, latencyMs: travelMs } = answer;
  const clock = sampleOfDate(date, { by: "the orchestrator", sentMs, receivedMs: sentMs + travelMs });
  const run = answer.status === 200 ? readStatus(answer.text) : null;
  if (run === null) {
    if (answer.status === 503) {
      const fix = "Wait until it has started: a long journal takes seconds; nodes wait automatically";
      return { verdict: wrong(`${url} answers but is not serving yet (status 503)`, fix), clock };
    }
    if (!isNamed) return { verdict: skipped(`none named; what answers at ${usualHub} is another program`), clock };
    const text = `${url} answers, but is not an orchestrator (status ${answer.status})`;
    return {
      verdict: wrong(text, "Check the address and the port: the orchestrator prints its own at start"),
      clock,
    };
  }
  const latencyMs = Math.max(1, Math.round(travelMs));
  const refusal = await refusalOfSocket(address.socket, { signal, trust });
  if (refusal !== null) {
    const text = `${url} answers over HTTP, but opens no WebSocket: ${refusal}`;
    const fix = "Let the proxy in front of it pass WebSocket upgrades, or use the orchestrator's own port";
    return { verdict: wrong(text, fix, { url, latencyMs, ...run }), clock };
  }
  const text = `${runText(run)}; ${url} answers in ${duration(latencyMs)}${wayText(address.socket)}`;
  return { verdict: good(text, { url, latencyMs, ...run }), clock };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly date: string | null;
  readonly sentMs: number;
  readonly latencyMs: number;
}

const asks = 3; // the first one also connects, and another check may keep this thread busy

interface Way {
  readonly signal: AbortSignal;
  readonly trust: HubTrust;
}

async function askBest(url: string, way: Way): Promise<Answer> {
  let best = await ask(url, way);
  for (let i = 1; i < asks; i++) {
    const answer = await ask(url, way);
    if (answer.latencyMs < best.latencyMs) best = answer;
  }
  return best;
}

async function ask(url: string, { signal, trust }: Way): Promise<Answer> {
  const sentMs = Date.now();
  const startMs = performance.now();
  const response = await trust.http.fetch(url, { signal, redirect: "manual" });
  const latencyMs = performance.now() - startMs;
  const { status, headers } = response;
  return { status, text: await boundedText(response), date: headers.get("date"), sentMs, latencyMs };
}

function runText({ run, size, phase, step, steps, nodes }: RunStatus): string {
  const count = plural(nodes, "node");
  return printable(`run ${run} of size ${size}, ${phase}, step ${decimal(step)} of ${decimal(steps)}, ${count}`);
}

function unreachable(url: string, { error, deadlineMs }: { error: unknown; deadlineMs: number }): Verdict {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (isLate) {
    const fix = `Check the address, and that firewalls on the way let the port through${
      unusedProxyText(hubAddress(url).socket)
    }`;
    return wrong(`${url} does not answer within ${deadlineMs / 1000} s`, fix, { url });
  }
  const { text, fix } = reachProblem(error);
  return wrong(
    `${url} cannot be reached${text === "" ? "" : `: ${text}`}`,
    `${fix}${unusedProxyText(hubAddress(url).socket)}`,
    { url },
  );
}

/** Null: it opens. */
async function refusalOfSocket(url: string, { signal, trust }: Way): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = trust.dial(url, {
    opened: () => resolve(null),
    frame: () => {}, // the challenge stays unanswered
    closed: (reason) => resolve(reason),
  });
  signal.addEventListener("abort", () => resolve("no answer in time"), { once: true });
  const refusal = await promise;
  socket.close("only a probe");
  return refusal;
}

function wayText(url: string): string {
  const choice = outbound().choose(url);
  return choice.type === "proxy" ? ` through the proxy ${choice.proxy.shown} (${choice.proxy.variable})` : "";
}

/** Without the variables for a needed proxy, a connection fails in the same way. */
function unusedProxyText(url: string): string {
  const unused = outbound().unusedFor(url);
  if (unused.length === 0) return "";
  const name = url.startsWith("wss:") ? "HTTPS_PROXY" : "HTTP_PROXY";
  return `; it was dialled without a proxy (${unused.join(" ")}): set ${name} or ALL_PROXY if one is needed`;
}
