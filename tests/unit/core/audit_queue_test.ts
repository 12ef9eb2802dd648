/** The queue of audits against a plain list that is searched from the front. */

import { assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import {
  addRequest,
  assertAuditQueue,
  groupsOf,
  hasAuditFor,
  queuedAudits,
  removeAudits,
  requeueAudit,
  takeAudit,
} from "../../../core/orchestrator/audit/audit_queue.ts";
import { type AuditRequest, evaluationOf, roundOf } from "../../../core/orchestrator/audit/audit_state.ts";
import { prngOf } from "../../support/small_prng.ts";
import { ScriptedOrchestrator } from "../../support/swarm/scripted_orchestrator.ts";

const validators = ["a", "b", "c", "d"].map(nodeId);

Deno.test("Audit queue: gives every validator what a search from the front would find, whatever was tried, passed on or dropped", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const below = prngOf(seed);
    const { audit } = new ScriptedOrchestrator({}).state;
    const { queue } = audit;
    let list: AuditRequest[] = queuedAudits(queue);
    for (let turn = 0; turn < 300; turn++) {
      const validator = validators[below(validators.length)]!;
      const openRound = below(3);
      const isOpen = (round: number) => round <= openRound;
      switch (below(4)) {
        case 0: {
          const request = evaluationOf(below(4));
          addRequest(audit, request);
          list.push(request);
          break;
        }
        case 1:
        case 2: {
          const groups = groupsOf(queue, isOpen);
          const at = list.findIndex((request) => isOpen(roundOf(request)) && !request.tried.includes(validator));
          assertEquals(hasAuditFor(groups, validator), at !== -1);
          const taken = takeAudit(queue, { groups, validator });
          assertEquals(taken === (list[at] ?? null), true);
          if (taken === null) break;
          list.splice(at, 1);
          if (below(3) === 0) break;
          taken.tried.push(validator);
          requeueAudit(queue, taken);
          list.unshift(taken);
          break;
        }
        default: {
          if (below(10) > 0) break;
          const isVain = (request: AuditRequest) => roundOf(request) === openRound && request.tried.length !== 1;
          assertEquals(removeAudits(queue, isVain).length, list.filter(isVain).length);
          list = list.filter((request) => !isVain(request));
        }
      }
      assertAuditQueue(queue);
      assertEquals(queuedAudits(queue).every((request, i) => request === list[i]), true);
      assertEquals(queue.size, list.length);
    }
  }
});
