/** A member whose link is broken for a moment goes on using blobs: its payload may just be on the way. */

import { assertEquals } from "@std/assert";
import { nodeId } from "../../core/ids.ts";
import { World } from "../lab/world/world.ts";
import { configOf } from "../support/swarm/whole_run.ts";

Deno.test("Blobs: a member may use them until it is given up, not only while it has a link", async () => {
  const config = configOf({ swarm: { replicas: 2 }, limits: { disconnectGraceMs: 5_000 } });
  const swarm = new World({ config });
  await swarm.startAll();
  const [{ address } = { address: "" }] = swarm.members;
  const { orchestrator, clock } = swarm;
  const node = [...orchestrator.state.members.keys()].find((each) => each === address)!;
  assertEquals(orchestrator.isMember(node), true);
  swarm.kill(address);
  await swarm.quiet();
  clock.advance(100);
  await swarm.quiet();
  assertEquals([orchestrator.state.members.get(node)?.graceUntilMs !== null, orchestrator.isMember(node)], [
    true,
    true,
  ]);
  assertEquals(orchestrator.isMember(nodeId("nobody")), false);
  orchestrator.stop("interrupted");
  await swarm.run();
});
