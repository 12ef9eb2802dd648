/** The orchestrator's entries in the run's signed log (core/ledger). */

import { hexOfKey } from "../chacha.ts";
import type { NodeId } from "../ids.ts";
import { type LoggedPathway, type MachineEntry, minerUnits, type StepEntry } from "../ledger/entry.ts";
import type { RunRecord } from "../protocol/record.ts";
import type { Forfeit } from "../score/work_score.ts";
import { sha256 } from "../sha256.ts";
import type { OrchestratorEffect } from "./event.ts";
import type { RoundReport } from "../score/work_score.ts";
import type { OrchestratorState } from "./state.ts";
import { lossOf, type Pathway, type StepOutcome } from "./step/step_outcome.ts";

const log = (entry: MachineEntry): OrchestratorEffect => ({ type: "log", entry });

export function logStep(
  { step, round, loss, miners, pathways }: StepOutcome,
  { forwardUnits }: Pick<OrchestratorState, "forwardUnits">,
): OrchestratorEffect {
  const entry: StepEntry = {
    ...{ type: "step", step, round, loss },
    miners: miners.map(({ node }) => node),
    tasks: miners.map(({ tasks }) => tasks),
    units: miners.map(({ units }) => units),
    ...(miners.some(({ dropped }) => dropped > 0) ? { dropped: miners.map(({ dropped }) => dropped) } : {}),
    forwardUnits,
    unpaid: miners.flatMap(({ isPaid }, place) => isPaid ? [] : [place]),
    pathways: pathways.map(loggedPathway),
  };
  return log(entry);
}

function loggedPathway(pathway: Pathway): LoggedPathway {
  const { microbatch, doers, makers } = pathway;
  const loss = lossOf(pathway);
  const isAsDone = makers.every((maker, position) => maker === doers[position]);
  return isAsDone ? { microbatch, doers, loss } : { microbatch, doers, makers, loss };
}

/** Before the round's first step: commits to the key of its random sampling, which its merge reveals. */
export function logDraws({ round, stream }: Pick<OrchestratorState, "round" | "stream">): OrchestratorEffect {
  return log({ type: "draws", round, hash: sha256(hexOfKey(stream.key)) });
}

export function logRound(
  { round, units, isLast }: RoundReport,
  { halved, qualities, forfeits, expelled }: {
    halved: readonly NodeId[];
    qualities: readonly number[];
    forfeits: readonly Forfeit[];
    expelled: readonly NodeId[];
  },
): OrchestratorEffect {
  const reduced = qualities.some((quality) => quality !== 1) ? { qualities } : {};
  const lost = forfeits.length === 0 ? {} : { forfeits };
  const last = isLast ? { isLast } : {};
  return log({ type: "round", round, ...minerUnits(units), halved, ...reduced, ...lost, ...last, expelled });
}

const leftEntry = ({ node, reason, expelled }: Extract<RunRecord, { type: "nodeLost" }>): MachineEntry =>
  expelled === true ? { type: "left", node, reason, isExpelled: true } : { type: "left", node, reason };

/** Null: the log has no entry for this record. */
export function entryOf(record: RunRecord): MachineEntry | null {
  switch (record.type) {
    case "nodeJoined":
      return { type: "joined", node: record.node, role: record.role };
    case "nodeAssigned":
      return { type: "assigned", node: record.node, stage: record.stage, round: record.round };
    case "nodeLost":
      return leftEntry(record);
    case "blamed":
      return record;
    case "rewound":
      return { type: "undone", toStep: record.toStep, reason: "no miner has the round's parameters any more" };
    case "mergeRetaken":
      return { type: "undone", toStep: record.step, reason: record.because };
    case "roundMerged": {
      const { round, stages, draws } = record;
      return { type: "merged", round, parameters: stages.map(({ parameters }) => parameters), draws };
    }
    default:
      return null;
  }
}
