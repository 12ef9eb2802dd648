/** The client behind a proxy that corrupts the node's messages, at random and by seed. */

import { assert, assertEquals } from "@std/assert";
import type { ChainCall } from "../../../chain/call.ts";
import { ChainError, type Receipt } from "../../../chain/chain.ts";
import type { SubtensorOptions } from "../../../chain/subtensor/subtensor_chain.ts";
import { faultTest, type FaultWorld, ownerHotkey, payer, transferCall } from "../../support/chain/chain_fault_world.ts";
import { prngOf } from "../../support/small_prng.ts";
import { isWhole } from "../../support/whole.ts";

/** Far above the waits before a reconnection, which pass at once, and in proportion as usual. */
const slow: Partial<SubtensorOptions> = {
  callDeadlineMs: 150_000,
  keepaliveMs: 250_000,
  headSilenceMs: 750_000,
  patienceMs: 600_000,
  inclusionWaitMs: 1_800_000,
};
const swiftMs = 61_000, tripMs = 10_000;
const reads = 300, perBatch = 10, tripsPerBlock = 3;

type Pick = (below: number) => number;
type Alter = (text: string) => readonly string[] | null;

/**
 * Each message of the node: unchanged, corrupted, truncated, late, twice, not at all; or the connection breaks.
 * `spoils`: also with other content.
 */
function spoiler(pick: Pick, { oneIn, spoils }: { oneIn: number; spoils: boolean }): Alter {
  let late: string[] = [];
  return (text) => {
    const before = late;
    late = [];
    if (pick(oneIn) > 0) return [text, ...before];
    const at = pick(text.length);
    switch (pick(spoils ? 8 : 6)) {
      case 0:
        return [text.slice(0, at), ...before];
      case 1:
        late = [text, ...before];
        return [];
      case 2:
        return [text, text, ...before];
      case 3:
        return before;
      case 4:
        return null;
      case 5:
        return ["null", "[]", "{}", '{"id":1}', '{"jsonrpc":"2.0","id":null,"error":null}'].slice(pick(5));
      case 6:
        return [text.slice(0, at) + '0123456789abcdef"{}'[pick(19)] + text.slice(at + 1), ...before];
      default:
        return [text.replace(/"result":.*/, ['"result":null}', '"result":"0x"}', '"result":[]}'][pick(3)]!), ...before];
    }
  };
}

/** Lets time pass and blocks arrive while `work` runs, so that every wait of the client ends. */
async function until<T>(world: FaultWorld, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => isOver = true);
  const ended = over.catch(() => {/* told to whoever awaits it */});
  for (let trips = 0; !isOver; trips++) {
    await Promise.race([world.proxy.roundTrip(), ended]);
    if (trips % tripsPerBlock === 0) world.produce();
    if (!isOver) world.timers.advance(tripMs);
  }
  return await over;
}

function anyRead({ chain }: FaultWorld, pick: Pick): Promise<unknown> {
  const options = { uid: 0, hotkey: ownerHotkey.address, mechanism: 0 };
  switch (pick(7)) {
    case 0:
      return chain.metagraph();
    case 1:
      return chain.parameters();
    case 2:
      return chain.epochState();
    case 3:
      return chain.weightsOf(options);
    case 4:
      return chain.pendingCommits(options);
    case 5:
      return chain.balanceOf(payer.address);
    default:
      return chain.head();
  }
}

function assertChainErrors(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === "rejected") assert(result.reason instanceof ChainError, String(result.reason));
  }
}

/** Reads are right again, and heads are reported. */
async function assertRecovered(world: FaultWorld): Promise<void> {
  world.proxy.heal();
  const { promise: told, resolve } = Promise.withResolvers<void>();
  const stop = world.chain.onHead(({ block }) => block === world.ledger.head().number && resolve());
  await until(world, told);
  stop();
  const { neurons, block } = await until(world, world.chain.metagraph());
  assertEquals([neurons.length, neurons[0]?.hotkey], [1, ownerHotkey.address]);
  assert(block <= world.ledger.head().number, `block ${block} is one of the chain's`);
}

for (const seed of isWhole ? [1, 2, 3] : [1]) {
  faultTest(`reads survive spoilt answers, seed ${seed}`, { client: slow }, async (world) => {
    const pick = prngOf(seed);
    world.timers.swiftMs = swiftMs;
    world.proxy.alter = spoiler(pick, { oneIn: 6, spoils: true });
    for (let i = 0; i < reads; i += perBatch) {
      const batch = Array.from({ length: perBatch }, () => anyRead(world, pick));
      assertChainErrors(await until(world, Promise.allSettled(batch)));
    }
    assert(world.proxy.connectionsMade > 3, "faults were met");
    await assertRecovered(world);
    assertEquals(world.proxy.openConnections, 1);
  });

  faultTest(`calls are done at most once whatever is lost, seed ${seed}`, { client: slow }, async (world) => {
    const pick = prngOf(seed);
    world.timers.swiftMs = swiftMs;
    world.proxy.alter = spoiler(pick, { oneIn: 10, spoils: false });
    const results: PromiseSettledResult<Receipt>[] = [];
    for (let i = 0; i < 25; i++) results.push(...await until(world, Promise.allSettled([sendTransfer(world)])));
    assertChainErrors(results);
    const receipts = results.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
    const included = receipts.filter(({ status }) => status === "included").length;
    const unknown = receipts.filter(({ status }) => status === "unknown").length;
    await assertRecovered(world);
    const done = world.callsDone();
    const odd = results.map((each) => each.status === "rejected" ? String(each.reason) : JSON.stringify(each.value))
      .filter((text) => !text.includes("included"));
    assert(
      done >= included && done <= included + unknown,
      `${included} included, ${done} done, others ${odd.join("; ")}`,
    );
    assert(included > 5, `${included} of ${results.length} are known to be done`);
  });
}

const sendTransfer = ({ chain }: FaultWorld, call: ChainCall = transferCall): Promise<Receipt> =>
  chain.send(call, payer);
