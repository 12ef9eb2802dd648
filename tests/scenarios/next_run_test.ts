/** An orchestrator that begins another run at the same address with the same key, as `iota orchestrate --fresh` does. */

import { assertEquals, assertMatch } from "@std/assert";
import { alwaysOpen, PausingRole } from "../../cli/node/pausing_role.ts";
import { miner } from "../../core/miner/machine.ts";
import { startMiner } from "../../cli/node/miner_role.ts";
import type { Pinned } from "../../cli/address/hub_pin.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { createLoopback } from "../../net/links/loopback.ts";
import { verifySignature } from "../../chain/wallet/hotkey.ts";
import { Clock } from "../lab/world/clock.ts";
import { passTimes, referenceHost } from "../lab/world/devices.ts";
import { worldSigner } from "../lab/world/keys.ts";
import { seededRandom } from "../lab/world/seeded_random.ts";
import { World } from "../lab/world/world.ts";
import { LinkControl } from "../support/net/link_control.ts";
import { assertWhole, configOf } from "../support/swarm/whole_run.ts";

/** One miner with this pin in the run "one", one stage of which it serves; then the same orchestrator serves "two". */
async function afterTheSwitch(pin: Pinned) {
  const clock = new Clock();
  const swarmOf = (runId: string) =>
    new World({
      config: configOf({ pipeline: { stages: 2 }, swarm: { replicas: 1 } }),
      clock,
      passMs: passTimes(10),
      hub: { runId },
    });
  let swarm = swarmOf("one");
  const control = new LinkControl(createLoopback((wire) => swarm.orchestrator.accept(wire)));
  const said: string[] = [];
  const waits: string[] = [];
  const signer = worldSigner(40);
  const role = new PausingRole({
    gate: alwaysOpen,
    start: () =>
      startMiner({
        machine: miner,
        link: {
          ...{
            url: "ws://10.0.0.5:9009",
            signer,
            verify: verifySignature,
            dial: control.dial,
            limits: defaultNetLimits,
          },
          ...{
            timers: clock.timers,
            random: seededRandom(1, "miner"),
            giveUpAfterMs: null,
            pin,
            onConnected: () => {},
          },
          onOffline: (text) => said.push(text),
          onWaiting: ({ reason }) => waits.push(reason),
        },
        device: referenceHost(),
        blobs: { put: (bytes) => swarm.blobs.put(bytes), get: (ref) => swarm.blobs.get(ref) },
        ownState: null,
        onRecord: () => {},
      }),
    onPaused: () => {},
    onResumed: () => {},
  });
  await swarm.addMiner();
  await swarm.runUntil(() => swarm.orchestrator.state.step > 0);
  swarm = swarmOf("two");
  control.cut();
  await swarm.addMiner();
  return { swarm, role, said, waits, node: signer.address };
}

Deno.test("Next run: a miner whose user named no run joins the new run of its orchestrator by itself, and says so", async () => {
  const { swarm, role, said, node } = await afterTheSwitch({ hub: worldSigner(0).address, run: null });
  await swarm.runUntil(() => swarm.orchestrator.state.members.has(node));
  assertEquals(said.at(-1), "The orchestrator serves run 'two' now, no longer 'one': joining it");
  await swarm.runThrough();
  assertWhole(swarm);
  assertEquals((await role.finished).finished, true);
});

Deno.test("Next run: a miner whose user named the old run waits for it and says which command joins the new one", async () => {
  const { swarm, role, waits, node } = await afterTheSwitch({ hub: worldSigner(0).address, run: "one" });
  await swarm.runUntil(() => waits.length > 0);
  assertMatch(waits[0]!, /This orchestrator serves run 'two', not 'one'; to join that run, stop this node/);
  assertMatch(waits[0]!, /type: iota miner --orchestrator 'iota:\/\/10\.0\.0\.5:9009\/two#5/);
  assertEquals(swarm.orchestrator.state.members.has(node), false);
  role.stop("test over");
  assertEquals((await role.finished).reason, "test over");
});
