/** `iota chain` when the subnet is not ready for a call: reported beforehand, with a next step that works when pasted. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aliceAddress, localGenesis } from "../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { parseEndpoints } from "../../chain/subtensor/connection/endpoints.ts";
import { SubtensorChain } from "../../chain/subtensor/subtensor_chain.ts";
import { quicknet, roundAt } from "../../chain/timelock/beacon.ts";
import { encryptTimelocked, timelockRandomBytes } from "../../chain/timelock/timelock.ts";
import { encodeWeightsPayload } from "../../chain/timelock/weights_payload.ts";
import { keyOfSecretUri } from "../../chain/wallet/secret_uri.ts";
import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { serveLedger } from "../../cli/chain/serve_ledger.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { netuid } from "../conformance/chain_world.ts";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

interface Asked {
  readonly ledger: LocalLedger;
  readonly url: string;
  /** Runs a command line as a person would type it. */
  ask(line: string): Promise<{ code: number; stdout: string; stderr: string }>;
  /** The same, of `iota chain`, at the served chain with //Alice's wallet. */
  chain(line: string): Promise<{ code: number; stdout: string; stderr: string }>;
}

/** A chain in this process, which a test can change, and a home with //Alice's coldkey and a hotkey that is registered nowhere. */
async function withSubnet(body: (asked: Asked) => Promise<void>): Promise<void> {
  await withScratchFolder(async (home) => {
    const genesis = localGenesis({ blockMs: 50, hyperparameters: { servingRateLimitBlocks: 2_000 } });
    const ledger = LocalLedger.open({ path: ":memory:", genesis });
    const live = await serveLedger({ ledger, host: "127.0.0.1", port: 0 });
    const ask = (line: string) => iota(line.split(" ").slice(1), { HOME: home, NO_COLOR: "1" });
    try {
      await ask("iota wallet import --uri //Alice --name alice --coldkey --no-password");
      await ask("iota wallet new --name alice");
      await body({
        ledger,
        url: live.url,
        ask,
        chain: (line) => ask(`iota chain ${line} --endpoint ${live.url} --wallet alice`),
      });
    } finally {
      await live.close();
      ledger.close();
    }
  });
}

/** Resolves with the next block, in which a changed rule holds. */
function nextBlock(ledger: LocalLedger): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = ledger.onBlock(() => {
    stop();
    resolve();
  });
  return promise;
}

const commandIn = (text: string): string => /iota chain .*$/m.exec(text)![0];

Deno.test("Chain answers: an unregistered hotkey gets the command that registers it, and pasting it works", () =>
  withSubnet(async ({ chain, ask }) => {
    for (const line of ["weights --set 0:1", "serve --ip 203.0.113.7 --port 8091"]) {
      const { code, stderr } = await chain(line);
      assertEquals(code, 1, stderr);
      assertMatch(commandIn(stderr), /^iota chain register --endpoint ws:\/\/127\.0\.0\.1:\d+ --wallet alice$/);
    }
    const refused = await chain("commit");
    const registered = await ask(commandIn(refused.stderr));
    assertEquals(registered.code, 0, registered.stderr);
    assertStringIncludes(registered.stdout, `has uid 1 in subnet ${netuid}`);
    const status = await chain("status");
    assertStringIncludes(status.stdout, "uid 1 since block");
  }));

Deno.test("Chain answers: stake is refused beforehand where the subnet was not started, and warned of where the hotkey is a stranger", () =>
  withSubnet(async ({ ledger, url, ask, chain }) => {
    ledger.setHyperparameters(netuid, { isStarted: false });
    await nextBlock(ledger);
    for (const line of ["stake --amount 1", "stake --amount 1 --remove"]) {
      const { code, stderr } = await chain(line);
      assertEquals(code, 1, stderr);
      assertStringIncludes(stderr, `the owner of subnet ${netuid} has not started it`);
    }
    assertStringIncludes(
      (await ask(`iota chain params --endpoint ${url}`)).stdout,
      "not yet: the owner has not started the subnet",
    );
    ledger.setHyperparameters(netuid, { isStarted: true });
    await nextBlock(ledger);
    assertEquals((await chain("register")).code, 0);
    const known = await chain("stake --amount 1");
    assertEquals([known.code, known.stderr.includes("not registered")], [0, false], known.stderr);
    const more = await chain("stake --amount 500 --remove");
    assertEquals(more.code, 1);
    assertMatch(more.stderr, /the hotkey has 1.* in subnet 9, less than 500.*\n.*Take at most: --amount 1/);
    // A second subnet, in which the hotkey has no seat: the chain takes stake to it all the same.
    const from = decodeAddress(aliceAddress)!;
    ledger.submit({ from, nonce: ledger.nonceOf(from), call: { type: "registerNetwork", hotkey: aliceAddress } });
    await nextBlock(ledger);
    const stranger = await chain("stake --amount 1 --netuid 1");
    assertEquals(stranger.code, 0, stranger.stderr);
    assertMatch(stranger.stderr, /5\w+ is not registered in subnet 1: until it is, its stake there earns nothing/);
    assertMatch(commandIn(stranger.stderr), /^iota chain register --endpoint \S+ --netuid 1 --wallet alice$/);
  }));

Deno.test("Chain answers: an axon that may not be announced yet gets the number of blocks until it may", () =>
  withSubnet(async ({ chain }) => {
    assertEquals((await chain("register")).code, 0);
    const first = await chain("serve --ip 203.0.113.7 --port 8091");
    assertEquals(first.code, 0, first.stderr);
    const again = await chain("serve --ip 203.0.113.7 --port 8091");
    assertStringIncludes(again.stdout, "nothing was sent");
    const { code, stderr } = await chain("serve --ip 203.0.113.7 --port 8092");
    assertEquals(code, 75, stderr);
    assertMatch(stderr, /accepts an announcement every 2,000 blocks, and the last one is \d+ blocks? old/);
    assertMatch(stderr, /Try again in 1,\d{3} blocks \(/);
    const wrong = await chain("serve --ip 127.0.0.1 --port 8092"); // its own words count, not the wait
    assertStringIncludes(wrong.stderr, "must not be a loopback");
  }));

Deno.test("Chain answers: a local chain warns of weights sealed to drand's quicknet when they are committed", () =>
  withScratchFolder(async (folder) => {
    const words = ["chain", "local", "--port", "0", "--block-ms", "100", "--commit-reveal", "--data", folder, "--json"];
    const server = new IotaProcess([...words, "--drand", "none"]);
    const { endpoint } = await server.lines.next("chainServed");
    const alice = keyOfSecretUri("//Alice")!.pair; // the subnet's owner and its first neuron
    const chain = await SubtensorChain.connect({
      ...{ endpoints: parseEndpoints(String(endpoint)), netuid, timers: systemTimers, dice: systemRandom.unit },
    });
    try {
      const round = roundAt(quicknet, Date.now() + 600_000);
      const plaintext = encodeWeightsPayload({ hotkey: alice.publicKey, uids: [0], values: [1], versionKey: 0n });
      const random = systemRandom.bytes(timelockRandomBytes);
      const commit = encryptTimelocked({ plaintext, round, beacon: quicknet, random });
      const call = { type: "commitTimelockedWeights", netuid, mechanism: 0, commit, revealRound: round } as const;
      const receipt = await chain.send({ ...call, commitRevealVersion: 4 }, alice);
      assertEquals(receipt.status, "included");
    } finally {
      await chain.close();
      server.kill("SIGINT");
    }
    const { stderr } = await server.ended;
    assertMatch(
      stderr,
      /warn .*the weights that 5\w+ committed are not sealed to this chain's beacon, but probably to drand's/,
    );
    assertStringIncludes(stderr, "they will be lost, as --drand none keeps this chain from fetching its pulses");
  }));
