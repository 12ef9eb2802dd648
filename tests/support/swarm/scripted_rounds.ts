/** Whole rounds of one stage on the scripted orchestrator, and validators that answer what they are asked to evaluate. */

import type { NodeId } from "../../../core/ids.ts";
import { commit, reduceAll } from "./scripted_merge.ts";
import type { ScriptedOrchestrator } from "./scripted_orchestrator.ts";

export function trainStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

/** A round of one step, up to the checkpoint of its result. */
export function trainRound(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  mergeRound(hub, nodes)();
}

/** The same up to the merge. Returns how its result is published. `waitMs`: for the round's audits. */
export function mergeRound(hub: ScriptedOrchestrator, nodes: readonly NodeId[], { waitMs = 0 } = {}): () => void {
  trainStep(hub, nodes);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  if (waitMs > 0) hub.wait(waitMs);
  const parameters = hub.blob(64);
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters, momentum: null });
  return () => {
    const uploader = hub.state.upload?.stages[0]?.asked as NodeId;
    hub.tell(uploader, { type: "parametersUploaded", round, parameters, momentum: null });
    hub.step({ type: "checkpointWritten", round, folder: "" });
  };
}

/** Answers every evaluation requested from these validators, until none is open. Returns the rounds. */
export function evaluate(
  hub: ScriptedOrchestrator,
  judges: readonly NodeId[],
  lossOf: (judge: NodeId, round: number) => number,
): Set<number> {
  const rounds = new Set<number>();
  for (let busy = true; busy;) {
    busy = false;
    for (const judge of judges) {
      if (!hub.inbox(judge).some(({ type }) => type === "evaluate")) continue;
      busy = true;
      const { request, round } = hub.take(judge, "evaluate");
      rounds.add(round);
      hub.nowMs += 100;
      hub.tell(judge, { type: "evaluated", request, loss: lossOf(judge, round), tokens: 64, signature: "" });
    }
  }
  return rounds;
}
