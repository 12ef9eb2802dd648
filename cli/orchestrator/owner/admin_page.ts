/**
 * `POST /api/v1/admin`: one request of the run's owner, signed with the orchestrator's key.
 *
 * A request is accepted once, by the orchestrator that it names, with the path and body that it signs, within the gate's
 * window. A request signed before this process began is refused, because an earlier process may have accepted it.
 */

import { createHash } from "node:crypto";
import { type Fault, fault, type Parsed } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import { readClaim } from "../../../net/auth/btauth.ts";
import type { Verify } from "../../../net/auth/hello.ts";
import { RequestGate, ticketHeader } from "../../../net/auth/request_auth.ts";
import type { TicketBox } from "../../../net/auth/ticket.ts";
import type { HubPage } from "../../../net/hub_http.ts";
import type { NetLimits } from "../../../net/limits.ts";
import type { Timers } from "../../../net/timers.ts";
import { answerOf, type OwnerRequest, readBody, readOwnerCall, refusal } from "./owner_request.ts";

export const adminPath = "/api/v1/admin";
const nsPerMs = 1_000_000n;

interface AdminPageOptions {
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
        fault("unauthenticated", "An owner's request must be signed; this one only has a ticket"),
      );
    }
    const { pathname: target } = new URL(request.url);
    const bodyHash = createHash("sha256").update(body.value).digest("hex");
    const sender = gate.check({ method: "POST", target, bodyHash }, request.headers, origin);
    if (!sender.ok) return refusal(sender.fault);
    const claim = readClaim(request.headers);
    if (!claim.ok || claim.value.nonceNs < beganNs) {
      return refusal(fault("unauthenticated", "The request was signed before this process started; send it again"));
    }
    const call = readOwnerCall(body.value);
    if (!call.ok) return refusal(call.fault);
    if (call.value.run !== run) {
      return refusal(
        fault("unauthenticated", `The request is for another run; this one is ${run}`),
      );
    }
    const done = await act(call.value.request);
    return answerOf(done);
  };
}

function ownerFault(node: NodeId, owner: NodeId): Fault | null {
  if (node === owner) return null;
  return fault(
    "notAdmitted",
    `Only the run's signing key, ${owner}, may change the run; the request is signed by ${node}`,
  );
}
