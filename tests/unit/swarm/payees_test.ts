/** Whom a swarm's chain pays is listed once by name, whenever its nodes and the chain's epochs come. */

import { assertEquals } from "@std/assert";
import { createHotkey } from "../../../chain/wallet/hotkey_files.ts";
import { earlierNodes, type Enrolled, Payees } from "../../../cli/swarm/payees.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const miner = (index: number): Enrolled => ({ name: `miner-${index}`, role: "miner", hotkey: `key-${index}` });
const neuron = ({ hotkey }: Pick<Enrolled, "hotkey">) => ({ hotkey, hasPermit: false });
const namesOf = (payees: Payees) => payees.all.map(({ name, hotkey }) => `${name} ${hotkey}`);

Deno.test("Payees: a node that an epoch met before its start enrolled it is listed once, under its name", () => {
  const payees = new Payees([miner(0), miner(1), miner(10)]);
  for (const node of [miner(10), miner(0), { hotkey: "stranger" }]) payees.note(neuron(node));
  payees.enroll(miner(1));
  payees.enroll(miner(0));
  payees.note(neuron(miner(0)));
  assertEquals(namesOf(payees), ["miner-0 key-0", "miner-1 key-1", "miner-10 key-10", "guest stranger"]);
  assertEquals(payees.enrolled.length, 2, "miner-10 of the earlier start is not of this one");
});

Deno.test("Payees: a guest that turns out to be a node of the swarm is not a guest any more", () => {
  const payees = new Payees([]);
  payees.note(neuron(miner(3)));
  assertEquals(namesOf(payees), ["guest key-3"]);
  payees.enroll(miner(3));
  assertEquals(namesOf(payees), ["miner-3 key-3"]);
});

Deno.test("Payees: the nodes of earlier starts are known by their wallets in the run's folder", () =>
  withScratchFolder(async (folder) => {
    assertEquals(await earlierNodes(folder), []);
    const key = (wallet: string) => ({ folder: `${folder}/wallets`, wallet, hotkey: "default" });
    const { pair } = await createHotkey(key("miner-0"));
    await createHotkey(key("orchestrator"));
    await Deno.mkdir(`${folder}/wallets/validator-0/hotkeys`, { recursive: true });
    assertEquals(await earlierNodes(folder), [{ name: "miner-0", role: "miner", hotkey: pair.address }]);
  }));
