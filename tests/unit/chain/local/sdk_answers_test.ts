/** What Bittensor's SDK asks beside the metagraph, through the node and in bytes: every declared function has an answer. */

import { assert, assertEquals } from "@std/assert";
import type { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { localNode } from "../../../../chain/local/rpc/server/local_node.ts";
import type { Runtime } from "../../../../chain/local/surface/runtime.ts";
import { runtimeOf } from "../../../../chain/local/surface/runtime.ts";
import { typesOf } from "../../../../chain/local/surface/metadata.ts";
import { runtimeSurface } from "../../../../chain/local/surface/surface.ts";
import { netuid, stranger, tokens } from "../../../conformance/chain_world.ts";
import { sampleValue } from "../../../support/chain/sample_value.ts";
import {
  alice,
  commit,
  miner,
  minerUid,
  populated,
  send,
  vote,
  voter,
  voterUid,
} from "../../../support/chain/small_subnet.ts";

interface Asking {
  readonly ledger: LocalLedger;
  readonly runtime: Runtime;
  /** The whole answer; throws when the node does. */
  readonly send: (method: string, ...params: unknown[]) => { result?: unknown; error?: unknown };
  readonly result: (method: string, ...params: unknown[]) => unknown;
  /** A runtime function's decoded answer. */
  readonly call: (name: string, ...args: unknown[]) => unknown;
}

function asking(epochs: "legacy" | "stateful", use: (asking: Asking) => void): void {
  const ledger = populated({ epochs, hyperparameters: { mechanisms: 2, weightsRateLimitBlocks: 0 } });
  const runtime = runtimeOf(runtimeSurface(ledger.genesis));
  const node = localNode({ ledger, runtime });
  const connection = node.connect(null);
  const ask = (method: string, ...params: unknown[]): ReturnType<Asking["send"]> => {
    let answer: ReturnType<Asking["send"]> = {};
    connection.receive(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), (text) => answer = JSON.parse(text));
    return answer;
  };
  const result = (method: string, ...params: unknown[]): unknown => {
    const answer = ask(method, ...params);
    assertEquals(answer.error, undefined, method);
    return answer.result;
  };
  const call = (name: string, ...args: unknown[]): unknown => {
    const declared = runtime.apiMethods.get(name)!;
    const bytes = declared.args.map(([, type], i) => runtime.scale.encode(type, args[i]).toHex()).join("");
    const answer = result("state_call", name, `0x${bytes}`) as string;
    return runtime.scale.decode(declared.answer, Uint8Array.fromHex(answer.slice(2)));
  };
  use({ ledger, runtime, send: ask, result, call });
  node.close();
  ledger.close();
}

for (const epochs of ["stateful", "legacy"] as const) {
  Deno.test(`Runtime API (${epochs}): every function that is declared is answered in its declared type`, () => {
    asking(epochs, ({ runtime, call }) => {
      for (const [name, { args }] of runtime.apiMethods) {
        const values = args.map(([arg, type], i) =>
          arg === "netuid" ? netuid : sampleValue(typesOf(runtime.surface), { type, seed: i })
        );
        assert(call(name, ...values) !== undefined, name);
      }
    });
  });

  Deno.test(`Storage keys (${epochs}): maps list what is there, by mechanism and by epoch`, () => {
    asking(epochs, ({ ledger, runtime, result }) => {
      const listed = (name: string): unknown[] => {
        const entry = runtime.storageKeys.entry(name)!;
        return (result("state_getKeysPaged", `0x${entry.prefix.toHex()}`, 100) as string[])
          .map((key) => runtime.storageKeys.read(Uint8Array.fromHex(key.slice(2)))!.keys);
      };
      assertEquals(listed("SubtensorModule.Tempo"), [[netuid]]);
      assertEquals(listed("SubtensorModule.LastUpdate"), [[netuid], [4_096 + netuid]]);
      assertEquals(listed("SubtensorModule.Weights").length, 2 * 3);
      assertEquals(listed("SubtensorModule.Uids").length, 3);
      assertEquals(listed("SubtensorModule.TotalHotkeyAlpha").length, 3);
      assertEquals(listed("SubtensorModule.Owner").length, 3);
      assertEquals(listed("Commitments.CommitmentOf"), []);
      assertEquals([listed("SubtensorModule.TimelockedWeightCommits"), listed("SubtensorModule.WeightCommits")], [
        [],
        [],
      ]);
      ledger.setHyperparameters(netuid, { isCommitReveal: true });
      assertEquals(send(ledger, { type: "transfer", to: stranger.address, amountRao: tokens(1) }), null);
      const sealed = { type: "commitTimelockedWeights", netuid, mechanism: 1, commit: new Uint8Array(9) } as const;
      const call = { ...sealed, revealRound: 10n ** 9n, commitRevealVersion: 4 };
      assertEquals(send(ledger, call, voter.publicKey), null);
      assertEquals(send(ledger, commit(1), voter.publicKey), null);
      const commits = listed("SubtensorModule.TimelockedWeightCommits") as [number, bigint][];
      assertEquals(commits.map(([index]) => index), [4_096 + netuid]);
      assertEquals(listed("SubtensorModule.WeightCommits"), [[netuid, voter.publicKey]]);
    });
  });
}

for (const epochs of ["stateful", "legacy"] as const) {
  Deno.test(`Strangers' questions (${epochs}): any key and any argument of the right type is answered, or refused in words`, () => {
    asking(epochs, ({ ledger, runtime, send: ask }) => {
      ledger.setHyperparameters(netuid, { isCommitReveal: true });
      assertEquals(send(ledger, vote([minerUid], [1]), voter.publicKey), "CommitRevealEnabled");
      assertEquals(send(ledger, commit(1), voter.publicKey), null);
      const types = typesOf(runtime.surface);
      const values = (declared: readonly string[], seed: number) =>
        declared.map((type, i) =>
          // half of the time about an existing account
          seed % 2 === 0 && type === "u16"
            ? [netuid, 4_096 + netuid, 1][(seed >> 1) % 3]!
            : type === "AccountId" && seed % 3 === 0
            ? voter.publicKey
            : sampleValue(types, { type, seed: seed + i })
        );
      for (let seed = 0; seed < 40; seed++) {
        for (const entry of runtime.storageKeys.entries) {
          const keys = values(entry.item.keys.map(({ type }) => type), seed);
          ask("state_getStorage", `0x${runtime.storageKeys.build(entry, keys).toHex()}`);
        }
        for (const [name, { args }] of runtime.apiMethods) {
          const declared = args.map(([, type]) => type);
          const bytes = values(declared, seed).map((value, i) => runtime.scale.encode(declared[i]!, value).toHex());
          ask("state_call", name, `0x${bytes.join("")}`);
        }
      }
    });
  });
}

Deno.test("Runtime API: stakes, prices and swaps without a market", () => {
  asking("stateful", ({ call }) => {
    const stakes = call("StakeInfoRuntimeApi_get_stake_info_for_coldkey", alice) as { stake: bigint }[];
    assert(stakes.length === 2 && stakes.some(({ stake }) => stake >= tokens(1_000)));
    const one = (hotkey: Uint8Array, coldkey: Uint8Array) =>
      call("StakeInfoRuntimeApi_get_stake_info_for_hotkey_coldkey_netuid", hotkey, coldkey, netuid) as {
        stake: bigint;
        isRegistered: boolean;
      };
    assert(one(voter.publicKey, alice).stake >= tokens(1_000));
    assertEquals([one(voter.publicKey, stranger.publicKey).stake, one(stranger.publicKey, alice).isRegistered], [
      0n,
      false,
    ]);
    assertEquals(call("SwapRuntimeApi_current_alpha_price", netuid), 1_000_000_000n);
    const swap = call("SwapRuntimeApi_sim_swap_tao_for_alpha", netuid, tokens(3)) as Record<string, bigint>;
    assertEquals([swap.alphaAmount, swap.taoFee, swap.alphaSlippage], [tokens(3), 0n, 0n]);
  });
});

Deno.test("Runtime API: neurons with their rows, subnets with their rules, and the next epoch", () => {
  asking("stateful", ({ ledger, call }) => {
    assertEquals(send(ledger, vote([minerUid], [1]), voter.publicKey), null);
    const neuron = call("NeuronInfoRuntimeApi_get_neuron", netuid, voterUid) as {
      weights: unknown;
      hotkey: Uint8Array;
    };
    assertEquals([neuron.weights, neuron.hotkey], [[[BigInt(minerUid), 65_535n]], voter.publicKey]);
    assertEquals(call("NeuronInfoRuntimeApi_get_neuron_lite", netuid, 99), null);
    assertEquals(call("NeuronInfoRuntimeApi_get_neurons", 77), []);
    assert(call("SubnetInfoRuntimeApi_get_mechagraph", netuid, 1) !== null);
    assertEquals(call("SubnetInfoRuntimeApi_get_mechagraph", netuid, 2), null);
    const info = call("SubnetInfoRuntimeApi_get_subnet_info_v2", netuid) as Record<string, unknown>;
    assertEquals([info.netuid, info.subnetworkN, info.maxAllowedUids, info.tempo], [9n, 3n, 256n, 20n]);
    for (const name of ["get_subnet_info", "get_dynamic_info", "get_subnet_state", "get_next_epoch_start_block"]) {
      assertEquals(call(`SubnetInfoRuntimeApi_${name}`, 77), null);
    }
    const entries = call("SubnetInfoRuntimeApi_get_subnet_hyperparams_v3", netuid) as {
      name: Uint8Array;
      value: { type: string; value: unknown };
    }[];
    const tempo = entries.find(({ name }) => new TextDecoder().decode(name) === "tempo");
    assertEquals(tempo?.value, { type: "U16", value: 20 });
    assertEquals(call("SubnetInfoRuntimeApi_get_next_epoch_start_block", netuid), 40n);
  });
});

Deno.test("SDK answers: what a coldkey owns and has staked to, and what was locked for a subnet", () => {
  const ledger = populated();
  const keys = (name: string) =>
    (ledger.storage(`SubtensorModule.${name}`, [alice]) as Uint8Array[]).map((key) => key.toHex());
  const owned = [voter, miner].map(({ publicKey }) => publicKey.toHex()).sort();
  assertEquals(keys("OwnedHotkeys"), owned);
  assertEquals(keys("StakingHotkeys"), [voter.publicKey.toHex()]);
  const lockRao = ledger.runtimeApi("SubnetRegistrationRuntimeApi.get_network_registration_cost", []);
  assertEquals(send(ledger, { type: "registerNetwork", hotkey: stranger.address }), null);
  assertEquals([1, netuid].map((each) => ledger.storage("SubtensorModule.SubnetLocked", [each])), [lockRao, 0n]);
  ledger.close();
});
