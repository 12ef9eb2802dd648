/** `iota chain status`: prints the findings; the worst decides the exit code. */

import { paidInLastEpoch } from "../../chain/duty/epoch_pay.ts";
import { readView } from "../../chain/duty/read_view.ts";
import { nextEpochBlock } from "../../chain/epochs/epochs.ts";
import type { CommandContext } from "../terminal/command.ts";
import type { Paint } from "../terminal/text/paint.ts";
import { shortAddress } from "../terminal/text/format.ts";
import { type ChainAccess, withChain } from "./chain_access.ts";
import { coldkeyAddressOf, hotkeyAddressOf } from "./hotkey_address.ts";
import { type Finding, findingsOf, levelOf, type StatusFacts, windowOf } from "./hotkey_status.ts";

export async function showStatus(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const hotkey = await hotkeyAddressOf(context);
  const ownColdkey = options.text("hotkey") === hotkey ? null : await coldkeyAddressOf(context);
  const mechanism = options.number("mechanism") ?? 0;
  return await withChain(context, async (access) => {
    const facts = await readFacts(access, { hotkey, mechanism, ownColdkey });
    const findings = findingsOf(facts);
    const level = levelOf(findings);
    output.answer(
      { level, ...statusFields(facts), findings },
      statusText(facts, findings, output.paint).join("\n"),
    );
    return level === "wrong" ? 1 : 0;
  });
}

async function readFacts(
  { chain, connectMs, reading, commandTo }: ChainAccess,
  of: { hotkey: string; mechanism: number; ownColdkey: string | null },
): Promise<StatusFacts> {
  const startMs = performance.now();
  const { timeMs } = await reading(chain.blockTime());
  const readMs = performance.now() - startMs;
  const headAgeMs = Math.max(0, Date.now() - timeMs);
  const view = await reading(readView(chain, of));
  const own = view.metagraph.neurons.find(({ hotkey }) => hotkey === of.hotkey);
  const paidRao = own === undefined ? 0n : await reading(paidInLastEpoch(chain, { own, ...view }));
  const coldkey = own?.coldkey ?? of.ownColdkey;
  const balanceRao = coldkey === null ? 0n : await reading(chain.balanceOf(coldkey));
  return {
    ...{ hotkey: of.hotkey, view, paidRao, commandTo },
    account: coldkey === null ? null : { coldkey, balanceRao },
    endpoint: { url: chain.endpoint, connectMs, readMs, headAgeMs },
  };
}

function statusFields(facts: StatusFacts) {
  const { view: { metagraph, parameters, row, commits, epoch }, hotkey, paidRao, account, endpoint } = facts;
  const { netuid, block } = metagraph;
  const own = metagraph.neurons.find((neuron) => neuron.hotkey === hotkey);
  const next = nextEpochBlock(epoch);
  const window = windowOf(facts);
  return {
    ...{ netuid, hotkey, block, isRegistered: own !== undefined, uid: own?.uid ?? null },
    hasPermit: own?.hasPermit ?? false,
    isActive: own?.isActive ?? false,
    stakeRao: own === undefined ? null : String(own.stakeRao),
    emissionRao: own === undefined ? null : String(own.emissionRao),
    earnedRao: own === undefined || paidRao === null ? null : String(paidRao),
    immuneUntilBlock: own === undefined ? null : own.registeredAtBlock + parameters.immunityPeriodBlocks,
    lastUpdateBlock: own?.lastUpdateBlock ?? null,
    ...{ weights: row.length, commits: commits.length, nextEpochBlock: next },
    blocksToEpoch: next === null ? null : next - block,
    windowStartBlock: window?.startBlock ?? null,
    windowEndBlock: window?.endBlock ?? null,
    axon: own?.axon ?? null,
    coldkey: account?.coldkey ?? null,
    balanceRao: account === null ? null : String(account.balanceRao),
    endpoint: endpoint.url,
    connectMs: Math.round(endpoint.connectMs),
    readMs: Math.round(endpoint.readMs),
    headAgeMs: Math.round(endpoint.headAgeMs),
  };
}

function statusText(
  { hotkey, view: { metagraph } }: StatusFacts,
  findings: readonly Finding[],
  paint: Paint,
): string[] {
  const marks: Record<Finding["level"], string> = {
    good: paint.green("●"),
    waiting: paint.yellow("◌"),
    wrong: paint.red("×"),
    plain: paint.dim("·"),
  };
  const width = Math.max(...findings.map(({ name }) => name.length));
  return [
    `${paint.bold(shortAddress(hotkey))} in subnet ${metagraph.netuid}, block ${metagraph.block}`,
    ...findings.map(({ name, level, text }) => `${marks[level]} ${paint.dim(name.padEnd(width))}  ${text}`),
  ];
}
