/**
 * A stage whose blob is lost while the run still gathers: a replica that has loaded it restores it, so that the run can begin.
 */

import { assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { stageIndex } from "../../core/ids.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

Deno.test("Gathering: parameters that the store loses are asked of a replica that holds them, and the run begins", () => {
  const hub = new ScriptedOrchestrator({ deterministic: true, swarm: { replicas: 2, validators: 0 } });
  const stage = stageIndex(0);
  const sources = hub.stages.map(() => ({ type: "blobs", parameters: hub.blob(64), momentum: null }) as const);
  hub.state.sources = { round: 0, stages: sources }; // as after a resume
  const nodes = Array.from({ length: 4 }, (_, i) => hub.join(`miner-${i}`));
  const replicas = nodes.filter((node) => hub.state.members.get(node)!.stage === stage);
  const [holder, late] = [replicas[0]!, replicas[1]!];
  for (const node of nodes) if (node !== late) hub.load(node);
  assertEquals(hub.state.phase, "gathering");
  const { assignment } = hub.take(late, "assign");
  hub.tell(late, { type: "loadFailed", assignment, fault: fault("badBlob", "no such blob") });
  hub.step({ type: "stageRestored", round: 0, stage, source: { type: "initial" }, from: "initial" });
  assertEquals(hub.take(holder, "uploadParameters").round, 0);
  const { parameters, momentum } = sources[0]!;
  hub.tell(holder, { type: "parametersUploaded", round: 0, parameters, momentum });
  assertEquals(hub.records.filter(({ type }) => type === "stageRestored").length, 1);
  hub.load(late);
  assertEquals(hub.state.phase, "training");
});
