/**
 * `POST /api/v1/admin` at the hub's port: one signed request of the run's owner.
 *
 * Owns: who is the owner: the key that proves the hub in every hello and signs the run's log. A request is accepted once, for this
 * hub, path and body, within the gate's window, and none that is older than this process, which does not know those accepted before
 * it. Out of scope: acting (run_owner.ts), proofs (net/auth).
 */

import { createHash } from "node:crypto";
import { type Fault, fault, type Parsed, refused } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import { readClaim } from "../../net/auth/btauth.ts";
import type { Verify } from "../../net/auth/hello.ts";
import { RequestGate, ticketHeader } from "../../net/auth/request_auth.ts";
import type { TicketBox } from "../../net/auth/ticket.ts";
import type { HubPage } from "../../net/hub_http.ts";
import type { NetLimits } from "../../net/limits.ts";
import type { Timers } from "../../net/timers.ts";
import { type OwnerRequest, readOwnerCall } from "./owner_request.ts";

export const adminPath = "/api/v1/admin";
const mostBytes = 4_096;
const nsPerMs = 1_000_000n;

export interface AdminPageOptions {
  readonly run: string;
  readonly owner: NodeId;
  readonly verify: Verify;
  readonly tickets: TicketBox;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly act: (request: OwnerRequest) => Promise<Parsed<string>>;
}

export function openAdminPage(options: AdminPageOptions): HubPage {
  const { run, owner, verify, tickets, limits, timers, act } = options;
  const beganNs = BigInt(Math.floor(timers.nowMs())) * nsPerMs;
  const gate = new RequestGate({
    self: owner,
    verify,
    admit: (node) => ownerFault(node, owner),
    tickets,
    limits,
    timers,
  });
  return async (request, origin) => {
    const body = await readBody(request);
    if (!body.ok) return refusal(body.fault);
    if (request.headers.has(ticketHeader)) {
      return refusal(
        fault("unauthenticated", "Cannot act as a request of the owner must be signed: it shows a ticket"),
      );
    }
    const { pathname: target } = new URL(request.url);
    const bodyHash = createHash("sha256").update(body.value).digest("hex");
    const sender = gate.check({ method: "POST", target, bodyHash }, request.headers, origin);
    if (!sender.ok) return refusal(sender.fault);
    const claim = readClaim(request.headers);
    if (!claim.ok || claim.value.nonceNs < beganNs) {
      return refusal(fault("unauthenticated", "Cannot act on a request from before this process began; send it again"));
    }
    const call = readOwnerCall(body.value);
    if (!call.ok) return refusal(call.fault);
    if (call.value.run !== run) {
      return refusal(
        fault("unauthenticated", `Cannot act as the request must be for run ${run}: it is for another run`),
      );
    }
    const done = await act(call.value.request);
    return done.ok ? Response.json({ text: done.value }, { headers }) : refusal(done.fault);
  };
}

function ownerFault(node: NodeId, owner: NodeId): Fault | null {
  if (node === owner) return null;
  return fault(
    "notAdmitted",
    `Cannot act on the run as only the key that signs it may, ${owner}: the request is by ${node}`,
  );
}

async function readBody({ body }: Request): Promise<Parsed<string>> {
  let text = "";
  if (body === null) return { ok: true, value: text };
  for await (const part of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    text += part;
    if (text.length > mostBytes) {
      return refused("limitExceeded", `Cannot act as the request must have at most ${mostBytes} characters`);
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

const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const refusal = ({ code, detail }: Fault): Response =>
  Response.json({ code, detail }, { status: statusOf[code] ?? 400, headers });
