/** What stake vouches for: only a run of its own key. */

import { assertEquals } from "@std/assert";
import type { Chain, Neuron } from "../../../chain/chain.ts";
import { readAnnouncements } from "../../../cli/address/announcements.ts";

const hub = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
const rival = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"; // better staked

function chainOf(invites: Readonly<Record<string, string>>): Chain {
  const neuron = (uid: number, hotkey: string, stakeRao: bigint) =>
    ({ uid, hotkey, coldkey: `cold-${uid}`, hasPermit: true, stakeRao }) as Neuron;
  const chain: Pick<Chain, "parameters" | "metagraph" | "commitmentsOf"> = {
    parameters: () => Promise.resolve({ ownerHotkey: null } as Awaited<ReturnType<Chain["parameters"]>>),
    metagraph: () =>
      Promise.resolve({ netuid: 9, block: 100, neurons: [neuron(0, hub, 1_000n), neuron(1, rival, 2_000n)] }),
    commitmentsOf: (hotkeys) =>
      Promise.resolve(hotkeys.map((hotkey) => ({
        hotkey,
        block: 5,
        fields: [{ kind: "raw", bytes: new TextEncoder().encode(invites[hotkey]) }],
      }))),
  };
  return chain as Chain;
}

Deno.test("Announcements: a validator with more stake cannot announce another's run at its own address", async () => {
  const right = `iota://203.0.113.7:9009/small-1#${hub}`;
  const chain = chainOf({ [hub]: right, [rival]: `iota://198.51.100.66:9009/small-1#${hub}` });
  const { runs, unusable } = await readAnnouncements(chain, { isPublic: true });
  assertEquals(runs.map(({ hotkey, invite }) => [hotkey, invite.socket]), [[hub, "ws://203.0.113.7:9009"]]);
  assertEquals(unusable.map(({ hotkey }) => hotkey), [rival]);
});
