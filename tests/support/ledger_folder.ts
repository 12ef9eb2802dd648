/**
 * A signed log in a run's folder, written by the program's own log: two replicas of one stage over four rounds, and a validator that
 * finds one of them wrong in round 1. The numbers are made up.
 */

import { microbatchId, type NodeId, nodeId, stageIndex, taskId } from "../../core/ids.ts";
import type { MachineEntry } from "../../core/ledger/entry.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../chain/wallet/hotkey.ts";
import { openLedgerLog } from "../../cli/observe/ledger/ledger_log.ts";
import { ManualTimers } from "./net/manual_timers.ts";

export interface LedgerMembers {
  readonly right: NodeId; // does two tasks of each step
  readonly wrong: NodeId; // does one; found wrong in round 1, halved in round 2
  readonly validator: NodeId;
}

const stepsPerRound = 3;
const rounds = 4;

export async function recordLedger(folder: string, members: LedgerMembers): Promise<void> {
  const pair = hotkeyOfMiniSecret(new Uint8Array(32).fill(9));
  const signer = { address: nodeId(pair.address), sign: (message: Uint8Array) => pair.sign(message) };
  const warn = (text: string) => {
    throw new Error(text);
  };
  const timers = new ManualTimers();
  const log = await openLedgerLog({ folder, run: "demo", signer, verify: verifySignature, timers, warn });
  log.begin({ step: 0, round: 0, isJournaled: true });
  const { right, wrong, validator } = members;
  for (const node of [right, wrong]) {
    log.take({ type: "joined", node, role: "miner" });
    log.take({ type: "assigned", node, stage: stageIndex(0), round: 0 });
  }
  log.take({ type: "joined", node: validator, role: "validator" });
  for (let round = 0; round < rounds; round++) for (const entry of roundOf(round, members)) log.take(entry);
  log.close();
}

function roundOf(round: number, { right, wrong, validator }: LedgerMembers): MachineEntry[] {
  const isHalved = round === 2;
  const units = [18, isHalved ? 4.5 : 9];
  return [
    ...Array.from({ length: stepsPerRound }, (_, i) => stepOf(stepsPerRound * round + i, [right, wrong])),
    verdict({ round, validator, miner: wrong, passed: round !== 1 }),
    { type: "evaluated", round, validator, loss: 5 - round / 10 },
    {
      ...{ type: "round", round, miners: [right, wrong], units, halved: isHalved ? [wrong] : [], expelled: [] },
      isLast: round === rounds - 1,
    },
  ];
}

function stepOf(step: number, miners: readonly NodeId[]): MachineEntry {
  const losses = [5 - step / 10, 4 - step / 10, 4.5 - step / 10];
  return {
    ...{ type: "step", step, round: Math.floor(step / stepsPerRound), miners },
    ...{ tasks: [2, 1], units: [6, 3], unpaid: [], loss: losses.reduce((sum, loss) => sum + loss, 0) / losses.length },
    ...{ forwardUnits: [1], dropped: [0, 0] },
    pathways: losses.map((loss, i) => ({ microbatch: microbatchId(3 * step + i), doers: [i === 2 ? 1 : 0], loss })),
  };
}

interface Verdict {
  readonly round: number;
  readonly validator: NodeId;
  readonly miner: NodeId;
  readonly passed: boolean;
}

const verdict = ({ passed, ...about }: Verdict): MachineEntry => ({
  ...{ type: "verdict", ...about, stage: stageIndex(0), passed },
  task: taskId({ microbatch: microbatchId(0), stage: stageIndex(0), direction: "turnaround", attempt: 0 }),
  ...{ innovationError: passed ? 0.001 : 0.7, equalShare: 0, lossError: null, tolerance: 0.05 },
});
