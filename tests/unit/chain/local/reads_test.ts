/** The runtime's storage and APIs as the embedded chain answers them, in the shapes of spec 393. */

import { assertEquals } from "@std/assert";
import { aliceAddress, localGenesis } from "../../../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { isPulse } from "../../../../chain/timelock/pulse.ts";
import { decodeAddress } from "../../../../chain/wallet/ss58.ts";

const netuid = 9;
const alice = decodeAddress(aliceAddress)!;

function world(epochs: "legacy" | "stateful" = "stateful"): LocalLedger {
  const genesis = localGenesis({ epochs, hyperparameters: { tempoBlocks: 5, isCommitReveal: true } });
  const ledger = LocalLedger.open({ path: ":memory:", genesis });
  const axon = { ip: "203.0.113.7", port: 8091, protocol: 4, version: 3 };
  ledger.submit({ from: alice, nonce: 0, call: { type: "serveAxon", netuid, axon } });
  ledger.produceBlock(genesis.startMs + 1_000);
  for (let i = 2; i <= 7; i++) ledger.produceBlock(genesis.startMs + 1_000 * i);
  const hash = new Uint8Array(32).fill(3);
  ledger.submit({ from: alice, nonce: 1, call: { type: "commitWeights", netuid, mechanism: 0, hash } });
  ledger.produceBlock(genesis.startMs + 8_000);
  return ledger;
}

const axonInfo = {
  ...{ block: 1n, version: 3, ip: 0xcb007107n, port: 8091, ipType: 4, protocol: 4 },
  ...{ placeholder1: 0, placeholder2: 0 },
};

Deno.test("Storage: values have the runtime's names, widths and defaults", () => {
  const ledger = world();
  const read = (name: string, ...keys: unknown[]) => ledger.storage(`SubtensorModule.${name}`, keys);
  assertEquals([read("Uids", netuid, alice), read("Uids", netuid, new Uint8Array(32))], [0, undefined]);
  assertEquals([read("Keys", netuid, 0), read("Keys", netuid, 5)], [alice, new Uint8Array(32)]);
  assertEquals([read("Tempo", netuid), read("Tempo", 77), read("SubnetworkN", netuid)], [5, 5, 1]);
  assertEquals(read("Axons", netuid, alice), axonInfo);
  assertEquals([read("LastUpdate", netuid), read("LastUpdate", 4_096 + netuid)], [[8n], []]);
  assertEquals([read("ValidatorPermit", netuid), read("Incentive", netuid)], [[true], [0]]);
  assertEquals(read("WeightCommits", netuid, alice), [[new Uint8Array(32).fill(3), 1n, 8n, 0n]]);
  assertEquals([read("WeightCommits", netuid, new Uint8Array(32)), read("TimelockedWeightCommits", netuid, 1n)], [
    undefined,
    [],
  ]);
  assertEquals([read("LastEpochBlock", netuid), read("SubnetEpochIndex", netuid)], [5n, 1n]);
  assertEquals(read("BlocksSinceLastStep", netuid), 3n);
  assertEquals([read("NetworksAdded", netuid), read("NetworksAdded", 1), read("NoSuchItem")], [true, false, undefined]);
  ledger.close();
});

Deno.test("Storage: an older runtime has no epoch clock", () => {
  const ledger = world("legacy");
  for (const name of ["LastEpochBlock", "PendingEpochAt", "SubnetEpochIndex", "ActivityCutoffFactorMilli"]) {
    assertEquals(ledger.storage(`SubtensorModule.${name}`, [netuid]), undefined);
  }
  ledger.close();
});

Deno.test("Storage: pulses are there up to the last stored round and verify against the beacon's key", () => {
  const ledger = world();
  const last = ledger.storage("Drand.LastStoredRound", []) as bigint;
  const pulse = ledger.storage("Drand.Pulses", [last]) as { round: bigint; signature: Uint8Array };
  const { publicKey } = ledger.storage("Drand.BeaconConfig", []) as { publicKey: Uint8Array };
  assertEquals(isPulse({ publicKey, genesisMs: 0, periodMs: 3_000 }, pulse), true);
  assertEquals([pulse.round, ledger.storage("Drand.Pulses", [last + 1n])], [last, undefined]);
  const timeOfLast = ledger.genesis.beacon.genesisMs + Number(last - 1n) * 3_000;
  const ageMs = ledger.head().timestampMs - timeOfLast;
  assertEquals(ageMs >= 0 && ageMs < 3_000, true);
  ledger.close();
});

Deno.test("Runtime API: the metagraph by field, and by the indexes a client asks for", () => {
  const ledger = world();
  const whole = ledger.runtimeApi("SubnetInfoRuntimeApi.get_metagraph", [netuid]) as Record<string, unknown>;
  const names = Object.keys(whole);
  assertEquals(
    [7, 8, 10, 52, 55, 57, 59, 62, 67, 69].map((index) => names[index]),
    [
      ...["block", "tempo", "blocksSinceLastStep", "hotkeys", "axons", "validatorPermit", "lastUpdate", "incentives"],
      ...["alphaStake", "totalStake"],
    ],
  );
  const asked = ledger.runtimeApi("SubnetInfoRuntimeApi.get_selective_metagraph", [netuid, [7, 52, 55, 72]]);
  const given = Object.entries(asked as object).filter(([, value]) => value !== null);
  assertEquals(given, [["netuid", netuid], ["block", 8n], ["hotkeys", [alice]], ["axons", [axonInfo]], ["validators", [
    0,
  ]]]);
  assertEquals(ledger.runtimeApi("SubnetInfoRuntimeApi.get_metagraph", [77]), null);
  ledger.close();
});

Deno.test("Runtime API: neurons, hyperparameters and prices; an unknown name has no answer", () => {
  const ledger = world();
  const [neuron] = ledger.runtimeApi("NeuronInfoRuntimeApi.get_neurons_lite", [netuid]) as Record<string, unknown>[];
  assertEquals([neuron?.uid, neuron?.hotkey, neuron?.lastUpdate, neuron?.axonInfo], [0, alice, 8n, axonInfo]);
  const of = ledger.runtimeApi("SubnetInfoRuntimeApi.get_subnet_hyperparams_v2", [netuid]) as Record<string, unknown>;
  assertEquals([of.tempo, of.commitRevealWeightsEnabled, of.yumaVersion], [5, true, 2]);
  assertEquals(ledger.runtimeApi("SubnetRegistrationRuntimeApi.get_network_registration_cost", []), 1_000_000_000n);
  assertEquals(ledger.runtimeApi("NoSuchApi.get", []), undefined);
  ledger.close();
});
