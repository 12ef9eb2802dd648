/** Checks that data from a disk is a view. */

import * as v from "valibot";
import type { RunView } from "../../../core/view/view.ts";

const numberOrNull = v.nullable(v.number());
const direction = v.picklist(["forward", "backward"]);
const roundLoss = v.object({ round: v.number(), loss: v.number() });

const pathway = v.object({
  microbatch: v.number(),
  step: numberOrNull,
  hops: v.array(v.object({
    node: v.string(),
    stage: v.number(),
    direction: v.picklist(["forward", "turnaround", "backward"]),
    attempt: v.number(),
    sentMs: v.number(),
    tookMs: v.number(),
    computeMs: v.number(),
  })),
});

const series = v.object({
  values: v.array(numberOrNull),
  stride: v.number(),
  pending: v.object({ sum: numberOrNull, count: v.number() }),
});

const bytes = v.object({ wires: v.number(), merge: v.number(), parameters: v.number(), control: v.number() });

const viewShape = v.object(
  {
    facts: v.object({
      command: v.string(),
      run: v.string(),
      size: v.string(),
      parameters: v.number(),
      device: v.string(),
      steps: v.number(),
      stepsPerRound: v.number(),
      layersOfStages: v.array(v.number()),
    }),
    begunAtMs: v.number(),
    startedAtMs: v.number(),
    phase: v.picklist(["gathering", "training", "merging", "finished", "stopped"]),
    isPaused: v.boolean(),
    isPausedByOwner: v.boolean(),
    lostRounds: v.object({
      count: v.number(),
      stages: v.array(v.object({ stage: v.number(), reason: v.string() })),
      isHalted: v.boolean(),
    }),
    unserved: v.array(v.number()),
    step: v.number(),
    round: v.number(),
    stepAtStart: v.number(),
    trainingSinceMs: numberOrNull,
    stages: v.array(v.object({
      firstLayer: v.number(),
      layers: v.number(),
      forward: v.number(),
      backward: v.number(),
      merge: v.nullable(v.picklist(["committing", "reducing", "applying", "agreed"])),
    })),
    nodes: v.record(
      v.string(),
      v.object({
        node: v.string(),
        role: v.picklist(["miner", "validator"]),
        state: v.picklist(["loading", "ready", "lost"]),
        stage: numberOrNull,
        loading: numberOrNull,
        tasks: v.number(),
        conduct: v.object({
          released: v.number(),
          late: v.number(),
          outrun: v.number(),
          faults: v.number(),
          blamed: v.number(),
          lastFault: v.nullable(v.string()),
          audits: v.object({
            passed: v.number(),
            failed: v.number(),
            last: v.nullable(
              v.object({ atMs: v.number(), passed: v.boolean(), error: numberOrNull, tolerance: numberOrNull }),
            ),
          }),
        }),
        checks: v.nullable(v.object({
          passed: v.number(),
          failed: v.number(),
          evaluated: v.number(),
          lastAtMs: v.number(),
          lastFailed: v.nullable(v.object({ round: v.number(), miner: v.string() })),
          lastLoss: v.nullable(v.object({ round: v.number(), loss: numberOrNull })),
        })),
        pace: v.nullable(v.object({ tookMs: v.number(), computeMs: v.number(), leastAwayMs: v.number() })),
        openPace: v.nullable(v.object({
          tasks: v.number(),
          tookMs: v.number(),
          computeMs: v.number(),
          leastAwayMs: v.number(),
        })),
      }),
    ),
    nodeCount: v.number(),
    hops: v.record(v.string(), v.object({ stage: v.number(), direction })),
    hopCount: v.number(),
    pathways: v.object({ stride: v.number(), begun: v.number(), open: v.array(pathway), closed: v.array(pathway) }),
    losses: series,
    lossFirst: numberOrNull,
    lossLast: numberOrNull,
    learningRate: numberOrNull,
    recentSteps: v.array(v.object({ tokens: v.number(), closedAtMs: v.number() })),
    validation: v.array(roundLoss),
    heldOut: v.array(v.object({ round: v.number(), step: v.number(), loss: v.number() })),
    roundStarts: v.array(v.object({ round: v.number(), step: v.number() })),
    samples: v.array(v.object({
      round: v.number(),
      step: v.number(),
      prompt: v.string(),
      text: v.string(),
      loss: numberOrNull,
    })),
    curves: v.object({
      tokensPerSecond: series,
      miners: series,
      bytesPerToken: v.object({ wires: series, merge: series, parameters: series, control: series }),
      moved: v.nullable(bytes),
    }),
    bytes,
    wire: v.nullable(v.object({ forwardBytes: v.number(), backwardBytes: v.number(), bf16Bytes: v.number() })),
    chain: v.nullable(v.object({
      block: v.number(),
      weightsSet: v.number(),
      epochs: v.number(),
      minersRao: v.pipe(v.string(), v.regex(/^\d+$/)),
    })),
    lastMerge: v.nullable(v.object({
      round: v.number(),
      bytesPerMiner: v.number(),
      mergeMs: v.number(),
      agree: v.nullable(v.boolean()),
    })),
    agreement: v.array(v.object({ round: v.number(), stages: v.array(v.nullable(v.boolean())) })),
    verdicts: v.object({
      passed: v.number(),
      failed: v.number(),
      last: v.nullable(v.object({
        miner: v.string(),
        stage: v.number(),
        passed: v.boolean(),
        innovationError: numberOrNull,
        tolerance: numberOrNull,
        lossError: numberOrNull,
      })),
    }),
    reLeases: v.number(),
    news: v.array(v.object({ atMs: v.number(), record: v.looseObject({ type: v.string() }) })),
  } satisfies Record<keyof RunView, unknown>,
);

export function viewProblem(value: unknown): string | null {
  const { issues } = v.safeParse(viewShape, value, { abortEarly: true });
  return issues === undefined
    ? null
    : `'${v.getDotPath(issues[0]) ?? "view"}' does not belong in a view: ${issues[0].message}`;
}
