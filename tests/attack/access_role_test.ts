/** Nodes that claim another role than the one their hello proved. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type NodeId, nodeId, taskId } from "../../core/ids.ts";
import type { NodeMessage, Role } from "../../core/protocol/message.ts";
import { createLoopback } from "../../net/links/loopback.ts";
import { nodeSamples } from "../support/net/message_vectors.ts";
import { World } from "../lab/world/world.ts";
import { PatchedNode } from "../support/attack/patched_node.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { tinyConfig } from "../support/tiny_model.ts";

Deno.test("Role: a miner that joins as a validator gets no held-out text but the reason", async () => {
  const swarm = new World({ config: tinyConfig({ swarm: { replicas: 1, validators: 1 } }) });
  const dial = createLoopback((wire) => swarm.orchestrator.accept(wire));
  const liar = new PatchedNode({ seed: 99, role: "miner", dial, timers: swarm.clock.timers });
  await liar.connect();
  liar.join("validator");
  const { fault } = await liar.told.next("reject");
  assertEquals(fault.code, "unauthenticated");
  assertStringIncludes(fault.detail, "joins as a 'validator', but its hello proved the role 'miner'");
  await swarm.addMiners(3);
  swarm.addValidator();
  assert((await swarm.runThrough(60_000)).finished); // the honest nodes' run
  assertEquals(liar.told.all.map(({ type, segmentCount }) => [type, segmentCount]), [["reject", 0]]);
  assert(swarm.records.all.some((record) => record.type === "evaluated"));
  liar.close();
});

const validatorsOnly: readonly NodeMessage["type"][] = ["evaluated", "replayed", "gradientRepeated", "requestFailed"];
const both: readonly NodeMessage["type"][] = ["join", "leaving"];

function swarm(): { hub: ScriptedOrchestrator; miner: NodeId; validator: NodeId } {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 1 } });
  const miner = hub.ready("miner");
  const validator = nodeId("validator");
  hub.step({ type: "nodeConnected", node: validator, role: "validator", resumed: false });
  hub.tell(validator, nodeJoin("validator"));
  hub.inbox(miner).length = hub.inbox(validator).length = 0;
  return { hub, miner, validator };
}

const nodeJoin = (role: Role): NodeMessage => ({ ...nodeSamples.join, role, holding: null });

Deno.test("Role: every message of the other role is refused with a fault, and nothing else follows", () => {
  for (const message of Object.values<NodeMessage>({ ...nodeSamples })) {
    if (both.includes(message.type)) continue;
    const isValidators = validatorsOnly.includes(message.type);
    const { hub, miner, validator } = swarm();
    const sender = isValidators ? miner : validator;
    const before = structuredClone(hub.state);
    hub.tell(sender, message);
    assertEquals(hub.inbox(sender).map(({ type }) => type), ["reject"], message.type);
    assertMatch(
      hub.take(sender, "reject").fault.detail,
      new RegExp(`Only a ${isValidators ? "validator" : "miner"} may send ${message.type}`),
    );
    const counted = { standings: null, talk: null }; // that it was sent and refused
    assertEquals({ ...hub.state, ...counted }, { ...before, ...counted }, message.type);
  }
});

Deno.test("Role: an evaluation that a miner makes up does not count", () => {
  const { hub, miner } = swarm();
  const [request] = hub.state.audit.running.keys();
  hub.tell(miner, { type: "evaluated", request: request!, loss: 0.1, tokens: 64, signature: "" });
  assertEquals([hub.count("evaluated"), hub.count("faultSeen")], [0, 1]);
});

Deno.test("Role: a hotkey that returns in the other role acts for no member until it joins again", () => {
  const { hub, miner } = swarm();
  const from = (role: Role, message: NodeMessage) =>
    hub.step({ type: "messageReceived", node: miner, role, message, segments: [], scale: { largest: 0, rms: 0 } });
  for (const event of [null, { type: "restarted" }] as const) { // nothing has to be remembered of connections
    if (event !== null) hub.step(event);
    hub.inbox(miner).length = 0;
    from("validator", { type: "leaving", reason: "so that the miner is lost" });
    assertStringIncludes(
      hub.take(miner, "reject").fault.detail,
      "joined as a miner and sends",
    );
    const task = taskId({ microbatch: 0 as never, stage: 0 as never, direction: "forward", attempt: 0 });
    from("validator", { type: "taskFailed", task, fault: { code: "badBlob", detail: "" } });
    assertStringIncludes(hub.take(miner, "reject").fault.detail, "Only a miner may send taskFailed");
    from("validator", nodeJoin("miner"));
    assertStringIncludes(
      hub.take(miner, "reject").fault.detail,
      "joins as a 'miner', but its hello proved the role 'validator'",
    );
    assertEquals(hub.state.members.get(miner)?.role, "miner");
  }
  from("validator", nodeJoin("validator"));
  assertEquals(hub.state.members.get(miner)?.role, "validator");
  assertEquals(hub.state.members.get(miner)?.stage, null);
});
