/**
 * Limits what strangers may ask of a run's logs, because an answer may cost reading a whole log. All answers together
 * take about `bytesPerSecond`, and one address gets at most half of the rate and of the places.
 */

import { defaultNetLimits } from "../../../net/limits.ts";
import type { Timers } from "../../../net/timers.ts";

const mostWaiting = 8;
const mostWaitingOfOne = mostWaiting / 2; // of one address
const mostRemembered = 1024; // addresses that have asked lately
const savedMs = 2_000; // spendable at once
const savedOfOneMs = 3_000; // a visitor opens a few members in a row
const longestMs = defaultNetLimits.helloMs - 2_000; // before the port ends the request

export interface RationOptions {
  readonly timers: Timers;
  readonly bytesPerSecond: number;
}

interface Question {
  readonly origin: string;
  /** Null: nothing to show. */
  readonly json: () => Promise<string | null>;
  readonly lacks?: string;
  readonly leastBytes?: number;
}

export function openRations({ timers, bytesPerSecond }: RationOptions): (question: Question) => Promise<Response> {
  const all = newAccount();
  const byOrigin = new Map<string, Account>();
  return async ({ origin, json, lacks = noRecord, leastBytes = 0 }) => {
    const nowMs = timers.steadyMs();
    const own = byOrigin.get(origin) ?? newAccount();
    const isFull = all.waiting >= mostWaiting || all.paidUntilMs > nowMs + savedMs;
    const isOwnFull = own.waiting >= mostWaitingOfOne || own.paidUntilMs > nowMs + savedOfOneMs;
    if (isFull || isOwnFull) {
      return refusal("limitExceeded", "Too many requests for the past at once; try again in a second");
    }
    byOrigin.delete(origin);
    byOrigin.set(origin, own);
    forgetOld(byOrigin);
    for (const account of [all, own]) account.waiting += 1;
    try {
      const text = await withinTime(json(), timers);
      const bytes = Math.max(text?.length ?? 0, leastBytes);
      const takesMs = (bytes * 1_000) / bytesPerSecond;
      all.paidUntilMs = Math.max(all.paidUntilMs, nowMs) + takesMs;
      own.paidUntilMs = Math.max(own.paidUntilMs, nowMs) + 2 * takesMs; // half of the rate
      if (text === null) return refusal("missing", lacks);
      return new Response(text, { headers: jsonHeaders });
    } catch {
      return refusal("storage", "Cannot show the past: the run's record log cannot be read now");
    } finally {
      for (const account of [all, own]) account.waiting -= 1;
    }
  };
}

interface Account {
  waiting: number;
  paidUntilMs: number; // steady clock
}

const newAccount = (): Account => ({ waiting: 0, paidUntilMs: -Infinity });

function forgetOld(byOrigin: Map<string, Account>): void {
  for (const [origin, { waiting }] of byOrigin) {
    if (byOrigin.size <= mostRemembered) return;
    if (waiting === 0) byOrigin.delete(origin);
  }
}

const noRecord = "Cannot show the past: the run's record log is empty";

export function numberIn({ url }: Request, name: string): number | null {
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

export function refusal(code: keyof typeof statusOf, detail: string): Response {
  const status = statusOf[code];
  return Response.json({ code, detail }, { status, headers: status === 503 ? { "retry-after": "1" } : {} });
}

export const jsonHeaders = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
