/** Whose announcements count, and which of several runs a node takes. */

import { assertEquals } from "@std/assert";
import type { Neuron } from "../../../chain/chain.ts";
import { type Announcement, vouchersMax, vouchersOf } from "../../../cli/address/announcements.ts";
import type { Meeting } from "../../../cli/node/find/meet_hub.ts";
import { fittingRuns, RunPicker } from "../../../cli/node/find/pick_run.ts";
import { nodeId } from "../../../core/ids.ts";

function neuron(uid: number, of: { hotkey: string; coldkey: string; stake?: number; permit?: boolean }): Neuron {
  return {
    ...{ uid, hotkey: of.hotkey, coldkey: of.coldkey, isActive: true, hasPermit: of.permit ?? false },
    ...{ registeredAtBlock: 1, lastUpdateBlock: 1, stakeRao: BigInt(of.stake ?? 0), incentive: 0, dividends: 0 },
    ...{ emissionRao: 0n, axon: null },
  };
}

Deno.test("Vouching: the owner's hotkeys first, then validators by stake, and no others", () => {
  const neurons = [
    neuron(0, { hotkey: "poor", coldkey: "x", stake: 5, permit: true }),
    neuron(1, { hotkey: "stranger", coldkey: "y" }),
    neuron(2, { hotkey: "second", coldkey: "owner", stake: 1 }),
    neuron(3, { hotkey: "rich", coldkey: "z", stake: 900, permit: true }),
    neuron(4, { hotkey: "staked", coldkey: "z", stake: 10_000 }), // no permit: the chain does not count it yet
    neuron(5, { hotkey: "first", coldkey: "owner" }),
    neuron(6, { hotkey: "empty", coldkey: "z", permit: true }),
  ];
  const ranked = vouchersOf({ neurons, ownerHotkey: "first" });
  assertEquals(ranked.map(({ hotkey, by }) => `${hotkey} ${by}`), [
    "first owner",
    "second owner",
    "rich stake",
    "poor stake",
  ]);
  assertEquals(vouchersOf({ neurons, ownerHotkey: null }).map(({ hotkey }) => hotkey), ["rich", "poor"]);
  assertEquals(vouchersOf({ neurons, ownerHotkey: "elsewhere" }).map(({ hotkey }) => hotkey), ["rich", "poor"]);
});

Deno.test("Vouching: an owner with a thousand hotkeys does not make it longer", () => {
  const neurons = Array.from({ length: 1_000 }, (_, uid) => neuron(uid, { hotkey: `${uid}`, coldkey: "owner" }));
  assertEquals(vouchersOf({ neurons, ownerHotkey: "7" }).length, vouchersMax);
  assertEquals(vouchersOf({ neurons, ownerHotkey: "7" })[0]?.hotkey, "7");
});

const run = (name: string, by: "owner" | "stake", hub = "k"): Announcement => ({
  ...{ hotkey: `${by}-${name}`, by, stakeRao: 1n, block: 1 },
  invite: { socket: "ws://h:1", run: name, hub: nodeId(hub) },
});

Deno.test("Pick: the owner's, the only one, or the one that was asked for; otherwise a person decides", async () => {
  const check = async (
    runs: readonly Announcement[],
    wanted: { run?: string; hub?: string },
    expected: string,
  ) => {
    const fitting = fittingRuns(runs, {
      run: wanted.run ?? null,
      hub: wanted.hub === undefined ? null : nodeId(wanted.hub),
    });
    const answers: Meeting = { type: "claims", prove: () => Promise.resolve({ type: "proven" }), close: () => {} };
    const picker = new RunPicker({ meet: () => Promise.resolve(answers), steadyMs: () => 0 });
    const pick = await picker.pick(fitting, () => Promise.resolve(null));
    const said = pick.type === "found" ? `${pick.announcement.invite.run} of ${fitting.length}` : pick.type;
    assertEquals(said, expected);
  };
  await check([], {}, "none");
  await check([run("a", "stake")], {}, "a of 1");
  await check([run("a", "stake"), run("b", "stake")], {}, "ambiguous");
  await check([run("o", "owner"), run("a", "stake"), run("b", "stake")], {}, "o of 3");
  await check([run("o", "owner"), run("a", "stake"), run("b", "stake")], { run: "b" }, "b of 1");
  await check([run("o", "owner"), run("a", "stake")], { run: "c" }, "none");
  await check([run("a", "stake", "k1"), run("a", "stake", "k2")], { run: "a" }, "ambiguous");
  await check([run("a", "stake", "k1"), run("a", "stake", "k2")], { hub: "k2" }, "a of 1");
  await check([run("a", "owner", "k1"), run("a", "stake", "k2")], { run: "a" }, "a of 2");
});
