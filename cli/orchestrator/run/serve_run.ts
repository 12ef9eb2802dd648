/** What an orchestrator serves at its port. */

import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { fault } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import { blobPurpose, mayRead } from "../../../core/orchestrator/access.ts";
import { createApi } from "../../../net/hub_http.ts";
import type { NetLimits } from "../../../net/limits.ts";
import { RequestGate } from "../../../net/auth/request_auth.ts";
import type { TicketBox } from "../../../net/auth/ticket.ts";
import { systemTimers } from "../../../net/timers.ts";
import { adminPath, openAdminPage } from "../owner/admin_page.ts";
import type { RunOwner } from "../owner/run_owner.ts";
import type { CommandContext } from "../../terminal/command.ts";
import type { HubPort } from "../hub/hub_port.ts";
import type { HubStore } from "../hub/hub_store.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import type { Projection } from "../../observe/projection/projection.ts";

interface ServedParts {
  readonly runId: string;
  readonly owner: RunOwner;
  readonly role: RunningOrchestrator;
  readonly members: HubStore;
  readonly limits: NetLimits;
  readonly port: HubPort;
  readonly self: NodeId;
  readonly tickets: TicketBox;
  readonly pages: Projection["pages"];
}

/** Only this run's nodes may use its blobs. */
export function serveRun({ output }: CommandContext, parts: ServedParts): void {
  const { runId: run, owner, role, members, limits, port, self, tickets, pages } = parts;
  const gate = new RequestGate({
    self,
    verify: verifySignature,
    admit: (node) =>
      node === self || role.isMember(node) ? null : fault("notAdmitted", "Only nodes of this run may use its blobs"),
    tickets,
    limits,
    timers: systemTimers,
  });
  const api = createApi({
    blobs: members.routes(role.members, {
      check: (request, headers) => gate.check(request, headers),
      mayRead: (asked) => mayRead(role.state, asked),
      onMoved: (move) => role.traffic.moved(move, blobPurpose(role.state, move)),
    }),
    pages,
    posts: {
      [adminPath]: openAdminPage({
        ...{ run, owner: self, verify: verifySignature, tickets, limits, timers: systemTimers },
        act: (request) => owner.act(request),
      }),
    },
    onError: (error) => output.log.error(`A request failed: ${error.message}`),
  });
  port.serve({
    accept: (wire) => role.accept(wire),
    fetch: (request, trust, origin) => api.fetch(request, { trust, origin }),
  });
}
