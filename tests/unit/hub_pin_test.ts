/** Which orchestrator and run a node takes for its own: typed, remembered, or whoever comes first. */

import { assertEquals, assertThrows } from "@std/assert";
import { nodeId } from "../../core/ids.ts";
import { HubPin, type Pinned, pinWords, typedPin } from "../../cli/run/hub_pin.ts";
import { testSigner } from "../support/test_keys.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const [first, second] = [testSigner(1).address, testSigner(2).address];
const socket = "wss://run.example:443/a b";
const nothing: Pinned = { hub: null, run: null };

Deno.test("Hub pin: the first contact is remembered for its address, in the data folder", async () => {
  await withScratchFolder(async (folder) => {
    const pinned = async (at = socket, typed = nothing) => {
      const { hub, run } = await HubPin.open({ folder, socket: at }, typed);
      return { hub, run };
    };
    assertEquals(await pinned(), nothing);
    const pin = await HubPin.open({ folder, socket }, nothing);
    await pin.met({ hub: first, run: "one" });
    assertEquals({ hub: pin.hub, run: pin.run }, { hub: first, run: "one" });
    assertEquals(await pinned(), { hub: first, run: "one" });
    assertEquals(await pinned("ws://elsewhere"), nothing);
    assertEquals(await pinned(socket, { hub: first, run: null }), { hub: first, run: "one" });
    assertEquals(await pinned(socket, { hub: second, run: null }), { hub: second, run: null }, "another hub's runs");
    assertEquals(await pinned(socket, { hub: null, run: "two" }), { hub: first, run: "two" });
    await (await HubPin.open({ folder, socket }, { hub: second, run: null })).met({ hub: second, run: "two" });
    assertEquals(await pinned(), { hub: second, run: "two" });
    for await (const file of Deno.readDir(`${folder}/hubs`)) {
      await Deno.writeTextFile(`${folder}/hubs/${file.name}`, "{");
    }
    assertEquals(await pinned(), nothing, "a torn file");
  });
});

Deno.test("Hub pin: --hub must be an address; the join line's words are what a node reads", () => {
  const options = (values: Readonly<Record<string, string>>) =>
    ({ text: (name: string) => values[name] }) as unknown as Parameters<typeof typedPin>[0];
  assertEquals(typedPin(options({})), nothing);
  const [, hub, , run] = pinWords({ hub: first, run: "toy-1" });
  assertEquals(typedPin(options({ hub: hub!, run: run! })), { hub: nodeId(first), run: "toy-1" });
  assertThrows(
    () => typedPin(options({ hub: "ws://127.0.0.1" })),
    Error,
    "--hub as it must be an orchestrator's ss58 address",
  );
});
