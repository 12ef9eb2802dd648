/** An orchestrator's public `/status`, of limited length, checked by field. It proves nothing. */

import type { Fetch } from "../../../net/proxy/outbound.ts";
import { outboundFetch } from "../../program/outbound.ts";
import { reachProblem } from "../../address/reach_problem.ts";

export interface RunStatus {
  readonly run: string;
  readonly runId: string | null; // null: an older version
  readonly hub: string | null; // its key
  readonly size: string;
  readonly phase: string;
  readonly step: number;
  readonly steps: number;
  readonly nodes: number;
}

const maxAnswerBytes = 64 * 1024;

interface StatusQuestion {
  readonly http: string;
  readonly deadlineMs: number;
  readonly fetch?: Fetch;
}

/** Null: no answer in time, or from another program. */
export async function askStatus(question: StatusQuestion): Promise<RunStatus | null> {
  const status = await askAnyStatus(question);
  return status === "untrusted" ? null : status;
}

/** `untrusted`: its certificate is not trusted. */
export async function askAnyStatus(
  { http, deadlineMs, fetch: ask = outboundFetch }: StatusQuestion,
): Promise<RunStatus | "untrusted" | null> {
  try {
    const response = await ask(`${http}/status`, { signal: AbortSignal.timeout(deadlineMs), redirect: "manual" });
    const text = await boundedText(response);
    return response.status === 200 ? readStatus(text) : null;
  } catch (error) {
    return reachProblem(error).isUntrusted ? "untrusted" : null;
  }
}

export async function boundedText(response: Response): Promise<string> {
  let text = "";
  if (response.body === null) return text;
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.length > maxAnswerBytes) break;
  }
  return text;
}

export function readStatus(text: string): RunStatus | null {
  let status: unknown;
  try {
    status = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof status !== "object" || status === null) return null;
  const { name, runId = null, hub = null, size, phase, step, steps, nodes } = status as Record<string, unknown>;
  const hasTexts = [name, size, phase].every((value) => typeof value === "string" && value.length <= 64);
  const hasNumbers = [step, steps, nodes].every((value) => typeof value === "number" && Number.isFinite(value));
  const hasIdentity = [runId, hub].every((value) => value === null || typeof value === "string" && value.length <= 128);
  if (!hasTexts || !hasNumbers || !hasIdentity) return null;
  return { run: name, runId, hub, size, phase, step, steps, nodes } as RunStatus;
}
