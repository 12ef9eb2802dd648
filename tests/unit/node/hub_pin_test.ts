/** Which orchestrator and run a node accepts: typed, remembered, or the first met. */

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import { HubPin, type Pinned, pinWords, typedPin } from "../../../cli/address/hub_pin.ts";
import { testSigner } from "../../support/net/test_keys.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const [first, second] = [testSigner(1).address, testSigner(2).address];
const socket = "wss://run.example:443/a b";
const nothing: Pinned = { hub: null, run: null };

Deno.test("Pinned orchestrator: the first contact is remembered for its address, in the data folder", async () => {
  await withScratchFolder(async (folder) => {
    const pinned = async (at = socket, typed = nothing) => {
      const { hub, run } = await HubPin.open({ folder, socket: at }, typed);
      return { hub, run };
    };
    assertEquals(await pinned(), nothing);
    const pin = await HubPin.open({ folder, socket }, nothing);
    await pin.met({ hub: first, run: "one" });
    assertEquals({ hub: pin.hub, run: pin.run }, { hub: first, run: null });
    assertEquals(await pinned(), { hub: first, run: null }, "the orchestrator may begin another run");
    assertEquals(await pinned("ws://elsewhere"), nothing);
    assertEquals(await pinned(socket, { hub: first, run: null }), { hub: first, run: null });
    assertEquals(
      await pinned(socket, { hub: second, run: null }),
      { hub: second, run: null },
      "another orchestrator's runs",
    );
    assertEquals(await pinned(socket, { hub: null, run: "two" }), { hub: first, run: "two" });
    await (await HubPin.open({ folder, socket }, { hub: second, run: null })).met({ hub: second, run: "two" });
    assertEquals(await pinned(), { hub: second, run: null });
    for await (const file of Deno.readDir(`${folder}/hubs`)) {
      await Deno.writeTextFile(`${folder}/hubs/${file.name}`, "{");
    }
    assertEquals(await pinned(), nothing, "a torn file");
  });
});

Deno.test("Pinned orchestrator: at a loopback address another orchestrator replaces the remembered one, with a warning", async () => {
  await withScratchFolder(async (folder) => {
    for (const local of ["ws://127.0.0.1:9009", "ws://[::1]:9009", "ws://localhost:9009"]) {
      const open = (typed = nothing) => HubPin.open({ folder, socket: local }, typed);
      assertEquals(await (await open()).met({ hub: first, run: "one" }), null, "the first contact");
      const next = await open();
      assertEquals({ hub: next.hub, run: next.run }, nothing, "nobody is refused");
      const warning = await next.met({ hub: second, run: "two" });
      assertMatch(
        warning ?? "",
        new RegExp(`this address led to another orchestrator, ${first}, .remembered in ${folder}/hubs/`),
      );
      assertEquals(next.hub, second, "strict within one process");
      assertEquals(await next.met({ hub: second, run: "three" }), null, "the node has said that it joins another run");
      await next.met({ hub: second, run: "two" });
      assertEquals(await (await open()).met({ hub: second, run: "two" }), null, "renewed");
      assertMatch(await (await open()).met({ hub: second, run: "three" }) ?? "", /led to run two/);
      const strict = await open({ hub: first, run: null });
      assertEquals([strict.hub, strict.run], [first, null], "what was typed");
      assertEquals(await strict.met({ hub: first, run: "one" }), null, "typed on purpose: no warning");
    }
    for (const remote of ["ws://127.example:9009", "ws://10.0.0.1:9009"]) {
      await (await HubPin.open({ folder, socket: remote }, nothing)).met({ hub: first, run: "one" });
      const pin = await HubPin.open({ folder, socket: remote }, nothing);
      assertEquals([pin.hub, pin.run], [first, null], remote);
    }
  });
});

Deno.test("Pinned orchestrator: a mismatch names the file that remembers, unless it was typed", async () => {
  await withScratchFolder(async (folder) => {
    await (await HubPin.open({ folder, socket }, nothing)).met({ hub: first, run: "one" });
    const file = async (typed: Pinned, found: { hub: typeof first; run: string }) =>
      (await HubPin.open({ folder, socket }, typed)).rememberedIn(found)?.startsWith(`${folder}/hubs/`) ?? null;
    assertEquals(await file(nothing, { hub: second, run: "one" }), true);
    assertEquals(await file({ hub: first, run: null }, { hub: second, run: "one" }), null);
    assertEquals(await file({ hub: null, run: "one" }, { hub: first, run: "two" }), null);
    const elsewhere = await HubPin.open({ folder, socket: "ws://elsewhere" }, { hub: null, run: "one" });
    assertEquals(elsewhere.rememberedIn({ hub: first }), null, "nothing was met there before");
  });
});

Deno.test("Pinned orchestrator: --hub must be an address; a node can read the join line's options", () => {
  const options = (values: Readonly<Record<string, string>>) =>
    ({ text: (name: string) => values[name] }) as unknown as Parameters<typeof typedPin>[0];
  assertEquals(typedPin(options({})), nothing);
  const [, hub, , run] = pinWords({ hub: first, run: "toy-1" });
  assertEquals(typedPin(options({ hub: hub!, run: run! })), { hub: nodeId(first), run: "toy-1" });
  assertEquals(typedPin(options({ hub: ` ${hub}\n`, run: `${run} ` })), { hub: nodeId(first), run: "toy-1" });
  for (const wrong of ["ws://127.0.0.1", hub!.slice(0, -1), hub!.slice(1)]) {
    assertThrows(() => typedPin(options({ hub: wrong })), Error, "--hub must be an orchestrator's ss58 address");
  }
});
