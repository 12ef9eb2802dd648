/**
 * What a port answers from a run's logs: `/api/v1/history`, the span of its records; `/api/v1/past?at=SEQUENCE`, the run as it was
 * after one record; `/api/v1/pathway?microbatch=NUMBER`, one microbatch's way; `/api/v1/member?node=ADDRESS`, what the signed log says
 * of one member.
 *
 * Owns: how much strangers may ask. A question costs the fold of some records, or reading a whole log, and an answer up to a
 * snapshot's bytes. So a few wait at once, and all answers together take at most `bytesPerSecond`, where one that reads a log counts
 * as more than its bytes; whoever comes too early is told when to come back. Out of scope: reading the logs (cli/history).
 */

import { defaultNetLimits } from "../../net/limits.ts";
import type { HubPage } from "../../net/hub_http.ts";
import type { Timers } from "../../net/timers.ts";
import type { Past } from "../history/past.ts";
import { PastThread } from "../history/past_thread.ts";
import type { ConsumerContext, ProjectionConsumer } from "../projection/consumer.ts";

const mostWaiting = 8;
const hubBytesPerSecond = 2 ** 20;
const savedMs = 2_000; // of a rate that may be spent at once
const searchBytes = 2 ** 17;
const accountBytes = 2 ** 19;
const longestAddress = 64; // characters
const longestMs = defaultNetLimits.helloMs - 2_000; // the port gives a stranger's request `helloMs`

/** A process without a record log has no past to show, and says so with `null`. */
export function openPastApi({ folder, timers }: ConsumerContext): ProjectionConsumer {
  if (folder === null) return { pages: { "/api/v1/history": () => Response.json(null, { headers }) } };
  const past = new PastThread(folder, timers);
  return { pages: pastPages(past, { timers, bytesPerSecond: hubBytesPerSecond }), close: () => past.close() };
}

export function pastPages(
  past: Past,
  { timers, bytesPerSecond }: { readonly timers: Timers; readonly bytesPerSecond: number },
): Readonly<Record<string, HubPage>> {
  let waiting = 0;
  let paidUntilMs = -Infinity; // steady
  const answered = async (json: () => Promise<string | null>, { lacks = noRecord, leastBytes = 0 } = {}) => {
    const nowMs = timers.steadyMs();
    if (waiting >= mostWaiting || paidUntilMs > nowMs + savedMs) {
      return refusal("limitExceeded", "Cannot show the past now as too many ask for it; try again in a second");
    }
    waiting += 1;
    try {
      const text = await withinTime(json(), timers);
      const bytes = Math.max(text?.length ?? 0, leastBytes);
      paidUntilMs = Math.max(paidUntilMs, nowMs) + (bytes * 1_000) / bytesPerSecond;
      if (text === null) return refusal("missing", lacks);
      return new Response(text, { headers });
    } catch {
      return refusal("storage", "Cannot show the past as the run's record log cannot be read now");
    } finally {
      waiting -= 1;
    }
  };
  return {
    "/api/v1/history": () => answered(() => past.span()),
    "/api/v1/past": (request) => {
      const sequence = numberIn(request, "at");
      if (sequence !== null) return answered(() => past.at(sequence));
      return refusal("badRequest", "Cannot show this moment as 'at' must be the whole number of a record");
    },
    "/api/v1/pathway": (request) => {
      const microbatch = numberIn(request, "microbatch");
      if (microbatch === null) {
        return refusal("badRequest", "Cannot show this microbatch as 'microbatch' must be a whole number");
      }
      const lacks = `Cannot show microbatch ${microbatch} as the run's record log must hold a finished task of it`;
      return answered(() => past.pathway(microbatch), { lacks, leastBytes: searchBytes });
    },
    "/api/v1/member": (request) => {
      const node = new URL(request.url).searchParams.get("node") ?? "";
      if (!/^\w+$/.test(node) || node.length > longestAddress) {
        return refusal("badRequest", "Cannot show this member as 'node' must be its address");
      }
      return answered(async () => await past.account(node) ?? "null", { leastBytes: accountBytes });
    },
  };
}

const noRecord = "Cannot show the past as the run's record log must hold a record";

/** Null unless the query names a whole number. */
function numberIn({ url }: Request, name: string): number | null {
  const text = new URL(url).searchParams.get(name) ?? "";
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) ? value : null;
}

async function withinTime(answer: Promise<string | null>, timers: Timers): Promise<string | null> {
  const late = Promise.withResolvers<never>();
  const cancel = timers.after(longestMs, () => late.reject(new Error("late")));
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    cancel();
  }
}

const statusOf = { limitExceeded: 503, storage: 500, missing: 404, badRequest: 400 } as const;

function refusal(code: keyof typeof statusOf, detail: string): Response {
  const status = statusOf[code];
  return Response.json({ code, detail }, { status, headers: status === 503 ? { "retry-after": "1" } : {} });
}

const headers = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
