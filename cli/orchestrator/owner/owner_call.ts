/** An owner's request: signed, sent, and answered in words. */

import { createHash } from "node:crypto";
import * as v from "valibot";
import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import { createAuthorize } from "../../../net/auth/request_auth.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { ProxyError } from "../../../net/proxy/tunnel.ts";
import { reachProblem } from "../../address/reach_problem.ts";
import { outboundFetch } from "../../program/outbound.ts";
import { UserError } from "../../program/errors.ts";
import { adminPath } from "./admin_page.ts";
import type { OwnerCall, OwnerRequest } from "./owner_request.ts";

const answerMs = 20_000;
const identityShape = v.object({ runId: v.string(), hub: v.string() });

/** The signature is for this orchestrator and run alone. */
export async function identityAt(url: string): Promise<{ runId: string; hub: NodeId }> {
  const response = await reach(url, () => outboundFetch(`${url}/status`, { signal: AbortSignal.timeout(answerMs) }));
  const { success, output } = v.safeParse(identityShape, await response.json().catch(() => null));
  if (success) return { runId: output.runId, hub: nodeId(output.hub) };
  throw new UserError(`${url} answers, but not as an orchestrator`, {
    next: "Pass the address that the orchestrator printed: --orchestrator URL",
  });
}

export interface OwnedRun {
  readonly url: string;
  readonly pair: HotkeyPair;
  readonly run: string;
}

/** Returns what was done. Throws with the orchestrator's reason. */
export async function sendToHub({ url, pair, run }: OwnedRun, request: OwnerRequest): Promise<string> {
  const call: OwnerCall = { run, request };
  const body = JSON.stringify(call);
  const signer = { address: nodeId(pair.address), sign: (message: Uint8Array) => pair.sign(message) };
  const authorize = createAuthorize({ signer, receiver: signer.address, timers: systemTimers, random: systemRandom });
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const headers = { ...authorize({ method: "POST", target: adminPath, bodyHash }), "content-type": "application/json" };
  const signal = AbortSignal.timeout(answerMs);
  const response = await reach(
    url,
    () => outboundFetch(`${url}${adminPath}`, { method: "POST", headers, body, signal }),
  );
  const answer = await response.json().catch(() => null) as { text?: unknown; detail?: unknown } | null;
  if (response.ok && typeof answer?.text === "string") return answer.text;
  const detail = typeof answer?.detail === "string" ? answer.detail : `the orchestrator answered ${response.status}`;
  throw new UserError(
    detail,
    response.status === 404 ? { next: "Its program is older; upgrade the orchestrator" } : {},
  );
}

async function reach(url: string, ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof ProxyError) {
      throw new UserError(`Cannot reach ${url}: ${cause.message}`, { next: reachProblem(cause).fix, cause });
    }
    throw new UserError(`No orchestrator answers at ${url}`, {
      next: "Start it, or pass the address that it printed: --orchestrator URL",
      cause,
    });
  }
}
