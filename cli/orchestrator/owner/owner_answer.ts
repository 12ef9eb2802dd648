/** What the run's owner is answered over HTTP, by the orchestrator and by the owner's own page: bodies in, words or faults out. */

import { type Fault, type Parsed, refused } from "../../../core/fault.ts";

const mostBytes = 4_096;

export async function readBody({ body }: Request): Promise<Parsed<string>> {
  let text = "";
  if (body === null) return { ok: true, value: text };
  for await (const part of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    text += part;
    if (text.length > mostBytes) {
      return refused("limitExceeded", `The request is longer than ${mostBytes} characters`);
    }
  }
  return { ok: true, value: text };
}

const statusOf: Partial<Record<Fault["code"], number>> = {
  unauthenticated: 401,
  notAdmitted: 403,
  wrongPhase: 409,
  limitExceeded: 429,
};

export const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

export const refusal = ({ code, detail }: Fault): Response =>
  Response.json({ code, detail }, { status: statusOf[code] ?? 400, headers });

export const answerOf = (done: Parsed<string>): Response =>
  done.ok ? Response.json({ text: done.value }, { headers }) : refusal(done.fault);
