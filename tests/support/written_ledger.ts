/** Signed logs of short runs, as their orchestrator writes them, and what a forger without its key can make of them. */

import { assert, assertEquals } from "@std/assert";
import { microbatchId, type NodeId, nodeId, stageIndex, taskId } from "../../core/ids.ts";
import type { MachineEntry } from "../../core/ledger/entry.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../chain/wallet/hotkey.ts";
import { chainLine, readLine } from "../../cli/files/chain_line.ts";
import { LedgerLog, type LedgerLogOptions, openLedgerLog } from "../../cli/observe/ledger/ledger_log.ts";
import { type VerifiedLedger, verifyLedger } from "../../cli/observe/ledger/verify_ledger.ts";
import { ManualTimers } from "./net/manual_timers.ts";
import { withMemoryFolder } from "./scratch_folder.ts";

export const hub = keyOf(1);
export const [left, right] = [nodeId("5Left"), nodeId("5Right")];
export const validator = nodeId("5Validator");
export const stepsPerRound = 3;

export function keyOf(seed: number) {
  const pair = hotkeyOfMiniSecret(new Uint8Array(32).fill(seed));
  return { address: nodeId(pair.address), sign: (message: Uint8Array) => pair.sign(message) };
}

/** Two replicas of one stage: left does two tasks of each step, right one. */
export function stepEntry(step: number): MachineEntry {
  const losses = [5 - step / 10, 4 - step / 10, 4.5 - step / 10];
  return {
    ...{ type: "step", step, round: Math.floor(step / stepsPerRound), miners: [left, right] },
    ...{ tasks: [2, 1], units: [6, 3], unpaid: [], loss: losses.reduce((sum, loss) => sum + loss, 0) / 3 },
    ...{ forwardUnits: [1], dropped: [0, 0] },
    pathways: losses.map((loss, i) => ({ microbatch: microbatchId(3 * step + i), doers: [i === 2 ? 1 : 0], loss })),
  };
}

export const roundEntry = (round: number, units = [18, 9], halved: readonly NodeId[] = []): MachineEntry => ({
  ...{ type: "round", round, miners: [left, right], units, halved, expelled: [] },
});

export const verdictEntry = (round: number, { passed }: { passed: boolean }): MachineEntry => ({
  ...{ type: "verdict", validator, round, miner: right, stage: stageIndex(0), passed },
  task: taskId({ microbatch: microbatchId(0), stage: stageIndex(0), direction: "turnaround", attempt: 0 }),
  ...{ innovationError: passed ? 0.001 : 0.7, equalShare: 0, lossError: null, tolerance: 0.05 },
});

/** Rounds from one on to another, with a failed verdict in round 1. */
export function entriesOf({ from = 0, to }: { from?: number; to: number }): MachineEntry[] {
  return Array.from({ length: to - from }, (_, i) => from + i).flatMap((round) => [
    ...Array.from({ length: stepsPerRound }, (_, i) => stepEntry(stepsPerRound * round + i)),
    verdictEntry(round, { passed: round !== 1 }),
    roundEntry(round),
  ]);
}

export async function openLog(
  folder: string,
  options: Partial<LedgerLogOptions> = {},
): Promise<{ log: LedgerLog; timers: ManualTimers; warnings: string[] }> {
  const timers = new ManualTimers();
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const own = { folder, run: "run", signer: hub, verify: verifySignature, timers, warn };
  return { log: await openLedgerLog({ ...own, ...options }), timers, warnings };
}

/** One process that takes so many rounds and is stopped. */
export async function write(
  folder: string,
  { from = 0, to }: { from?: number; to: number },
  options = {},
): Promise<void> {
  const { log } = await openLog(folder, options);
  log.begin({ step: stepsPerRound * from, round: from, isJournaled: from > 0 });
  for (const entry of entriesOf({ from, to })) log.take(entry);
  log.end({ finished: true, reason: "all steps are done" });
  log.close();
}

export const pathIn = (folder: string) => `${folder}/ledger.jsonl`;
export const linesIn = (folder: string) => Deno.readTextFileSync(pathIn(folder)).trimEnd().split("\n");
export const rewrite = (folder: string, lines: readonly string[]) =>
  Deno.writeTextFileSync(pathIn(folder), lines.map((line) => `${line}\n`).join(""));

export async function verified(folder: string): Promise<VerifiedLedger> {
  const found = await verifyLedger(pathIn(folder), { verify: verifySignature });
  assert(found !== null, "there is a log");
  return found;
}

export const typeOf = (line: string): string => {
  const content = readLine(line)!.content;
  return "entry" in content ? content.entry.type : "signature";
};

/** Changes a written log of three rounds and asks for its first wrong line. */
export async function wrongAfter(change: (lines: string[], folder: string) => number | Promise<number>): Promise<void> {
  await withMemoryFolder(async (folder) => {
    await write(folder, { to: 3 });
    assertEquals((await verified(folder)).wrong, null);
    const lines = linesIn(folder);
    const expected = await change(lines, folder);
    rewrite(folder, lines);
    const { wrong } = await verified(folder);
    assertEquals(wrong?.line, expected, wrong?.why);
  });
}

/** All lines from one on with hashes that continue the chain, as a forger without the orchestrator's key would make them. */
export function chainedFrom(lines: string[], line: number): void {
  let head = line === 1 ? { line: 0, hash: "0".repeat(64) } : headOf(lines[line - 2]!);
  for (let i = line - 1; i < lines.length; i++) {
    const { content } = JSON.parse(JSON.stringify({ content: readLine(lines[i]!)!.content }));
    const next = chainLine(head, content);
    lines[i] = next.text;
    head = next.head;
  }
}

export const headOf = (text: string) => {
  const { line, hash } = readLine(text)!;
  return { line, hash };
};

export function replaceEntry(lines: string[], at: number, change: (entry: Record<string, unknown>) => void): void {
  const { line, content } = readLine(lines[at]!)!;
  const changed = JSON.parse(JSON.stringify(content));
  change(changed.entry);
  const head = at === 0 ? { line: 0, hash: "0".repeat(64) } : headOf(lines[at - 1]!);
  assertEquals(head.line + 1, line);
  lines[at] = chainLine(head, changed).text;
}

/** Its hash is left for `chainedFrom`. */
export function replaceUnchained(lines: string[], at: number, change: (entry: Record<string, unknown>) => void): void {
  const content = JSON.parse(JSON.stringify(readLine(lines[at]!)!.content));
  change(content.entry);
  lines[at] = chainLine({ line: at, hash: "0".repeat(64) }, content).text;
}
