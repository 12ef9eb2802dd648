/** Sentences shared by several views. */

import { joinedAnew, type RunRecord } from "../../../core/protocol/record.ts";
import { decimal, plural, shortAddress } from "../../terminal/text/format.ts";
import type { RecordOf } from "../../../core/view/view_record.ts";

type Of<Type extends RunRecord["type"]> = Extract<RunRecord, { type: Type }>;

const restoredFrom: Readonly<Record<Of<"stageRestored">["from"], string>> = {
  stored: "was in the store after all",
  replica: "was restored from a replica",
  checkpoint: "was restored from the checkpoint",
  neighbours: "was rebuilt from the neighbouring stages",
  initial: "was rebuilt from the seed",
};

export function restoredText({ stage, round, from }: Of<"stageRestored">): string {
  return `stage ${stage} of round ${round} was missing and ${restoredFrom[from]}`;
}

export function unservedText(stages: readonly number[]): string {
  const last = stages.at(-1);
  return stages.length === 1
    ? `stage ${last} has no miner`
    : `stages ${stages.slice(0, -1).join(", ")} and ${last} have no miner`;
}

export const servedText = "every stage has a miner again";

export function retakenText({ because, stages = [] }: Of<"mergeRetaken">): string {
  switch (because) {
    case "madeUpWires":
      return "wires in it were made up";
    case "lossJumped":
      return "the held-out loss jumped";
    case "minersLost":
      return stages.map(({ stage, reason }) => `stage ${stage}: ${reason}`).join(", ");
    case "payloadMissing":
      return stages.map(({ stage, reason }) => `stage ${stage} has no payload (${reason})`).join(", ");
    case "parametersLost":
      return stages.length === 0
        ? "the parameters of the newest round are lost"
        : stages.map(({ stage, reason }) => `stage ${stage} has no parameters (${reason})`).join(", ");
  }
}

export function awaitedText({ nodes, miners = 0 }: Of<"resumed">): string {
  if (miners === 0) return `waiting for ${plural(nodes, "node")}`;
  if (nodes === 0) return `waiting for ${plural(miners, "miner")}`;
  return `${plural(nodes, "node")} from before the restart ${nodes === 1 ? "is" : "are"} expected back; waiting for ${
    plural(miners, "miner")
  }`;
}

const handedOut = (tasks: number): string => `${plural(tasks, "task")} handed out again`;

export const reissuedClause = (tasks: number): string => tasks === 0 ? "" : `; ${handedOut(tasks)}`;

/** Empty if its accepted work is in a merge or is repeated. */
export const lostClause = ({ tasksLost = 0 }: Of<"nodeLost">): string =>
  tasksLost === 0 ? "" : `; the gradients of ${plural(tasksLost, "accepted task")} are lost with it`;

export const endsEarlyText = ({ round, stage, node, step }: Of<"roundEndsEarly">): string =>
  `round ${round} ends early, with step ${step}: ${
    shortAddress(node)
  } leaves and holds most of stage ${stage}'s work of the round`;

export const isReturn = ({ reason }: Of<"nodeLost">): boolean => reason === joinedAnew;

/** The usual end of a task handed out twice. */
export const isLate = ({ code }: Of<"faultSeen">): boolean => code === "staleResult";

export function faultText(record: Of<"faultSeen">): string {
  return isLate(record) ? `an answer came late, which costs nothing: ${record.detail}` : record.detail;
}

export const lostStagesText = (stages: readonly { readonly stage: number }[]): string =>
  `what ${stages.length === 1 ? "stage" : "stages"} ${
    stages.map(({ stage }) => stage).join(", ")
  } trained last is lost`;

/** Failed audits have lines of their own. */
type PassedAudit = Pick<RecordOf<"verdict">, "miner" | "innovationError" | "gradient">;

export class AuditTally {
  #count = 0;
  #largestError = 0;
  readonly #miners = new Set<string>();

  add({ miner, innovationError, gradient }: PassedAudit): void {
    this.#count += 1;
    this.#miners.add(miner);
    if (gradient === undefined) this.#largestError = Math.max(this.#largestError, innovationError);
  }

  /** Null: none since the last call. */
  take(): string | null {
    if (this.#count === 0) return null;
    const text = `${plural(this.#count, "audit")} of ${plural(this.#miners.size, "miner")} passed, innovation error ${
      this.#largestError === 0 ? "0" : `at most ${decimal(this.#largestError)}`
    }`;
    this.#count = 0;
    this.#largestError = 0;
    this.#miners.clear();
    return text;
  }
}
