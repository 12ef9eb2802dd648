/** The mode of a subnet's epochs, which runtimes have since spec 474. */

import { assertEquals } from "@std/assert";
import { stringToU8a, u8aConcat, u8aToHex } from "@polkadot/util";
import { xxhashAsU8a } from "@polkadot/util-crypto";
import { faultTest, netuid } from "../../support/chain/chain_fault_world.ts";

const key = u8aToHex(u8aConcat(
  xxhashAsU8a(stringToU8a("SubtensorModule"), 128),
  xxhashAsU8a(stringToU8a("SubnetEpochConsensus"), 128),
  new Uint8Array([netuid & 0xff, netuid >> 8]),
));

faultTest("the consensus is Yuma's unless the subnet's storage names Null", {}, async (world) => {
  assertEquals((await world.chain.parameters()).consensus, "yuma");
  world.proxy.alter = (text) => [text.replace(new RegExp(`"${key}",("0x00"|null)`), `"${key}","0x01"`)];
  await world.mine();
  assertEquals((await world.chain.parameters()).consensus, "null");
});

faultTest("a runtime without the entry has Yuma's consensus", { genesis: { epochs: "legacy" } }, async (world) => {
  assertEquals((await world.chain.parameters()).consensus, "yuma");
});
