/**
 * The API's answers as schemas and their types. Published field names stay. A field missing here is in no answer. The
 * dashboard's page imports only types from here, so that its bundle has no valibot.
 */

import * as v from "valibot";

const described = <Schema extends v.GenericSchema>(schema: Schema, text: string) => v.pipe(schema, v.description(text));

const count = v.number();
const maybe = v.nullable(v.number());
const wallClock = described(v.number(), "milliseconds since 1970, wall clock");
const merge = v.nullable(v.picklist(["committing", "reducing", "applying", "agreed"]));

const stage = v.strictObject({
  firstLayer: count,
  layers: count,
  forward: described(count, "microbatches whose next task is this stage's forward or turnaround"),
  backward: count,
  merge: described(merge, "null outside a merge"),
});

const audit = v.strictObject({
  miner: v.string(),
  stage: count,
  passed: v.boolean(),
  innovationError: maybe,
  tolerance: maybe,
  lossError: maybe,
});

export const pathwayShape = v.strictObject({
  microbatch: count,
  step: described(maybe, "in which it counted, from 1; null: that step is open"),
  hops: described(
    v.array(v.strictObject({
      node: v.string(),
      stage: count,
      direction: v.picklist(["forward", "turnaround", "backward"]),
      attempt: described(count, "0: the first"),
      sentMs: described(count, "milliseconds after the step was opened"),
      tookMs: described(count, "from sending the task to its result, in milliseconds"),
      computeMs: described(count, "of these, on the device, by the miner's word"),
    })),
    "finished tasks, in the order in which they finished",
  ),
});

const byKind = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.strictObject({
    wires: described(schema, "tasks with their tensors"),
    merge: described(schema, "payloads and reduced slices"),
    parameters: described(schema, "whole stages, and what audits and evaluations read"),
    control: described(schema, "all other messages"),
  });

const curves = v.strictObject({
  stride: count,
  pending: count,
  tokensPerSecond: described(v.array(maybe), "from one closed step to the next, merges included"),
  miners: described(v.array(maybe), "ready ones"),
  bytesPerToken: described(byKind(v.array(maybe)), "over the orchestrator's port, both ways, for each trained token"),
});

const hop = v.strictObject({ microbatch: count, stage: count, direction: v.picklist(["forward", "backward"]) });

const run = v.strictObject({
  name: v.string(),
  size: v.string(),
  parameters: described(count, "of the whole model"),
  phase: v.picklist(["gathering", "training", "merging", "finished", "stopped"]),
  isPaused: described(v.boolean(), "the orchestrator's disk is full"),
  isPausedByOwner: v.boolean(),
  roundsLost: described(count, "a stage had no payload or no merged parameters: they do not count"),
  lostStages: described(
    v.array(v.strictObject({ stage: count, reason: v.string() })),
    "of the last round, where it was lost: the stages without a payload or without merged parameters",
  ),
  isHalted: described(v.boolean(), "the run waits before it repeats that round"),
  unserved: described(v.array(count), "stages that wait for a miner"),
  startedAtMs: described(wallClock, "of the run's first process"),
  step: described(count, "closed optimizer steps"),
  steps: described(count, "of the whole run"),
  round: count,
  remainingMs: described(maybe, "estimated; null while unknown"),
  tokensPerSecond: maybe,
  learningRate: maybe,
  losses: described(
    v.strictObject({
      values: v.array(maybe),
      stride: count,
      pending: count,
      first: maybe,
      last: maybe,
    }),
    "training losses in nats per token; each value is the mean of `stride` steps, `pending` newer steps fill no value yet",
  ),
  heldOut: described(
    v.array(v.strictObject({ round: count, step: count, loss: count })),
    "losses on held-out text in nats per token",
  ),
  curves: described(
    curves,
    "over the steps: each value is the mean of `stride` steps, `pending` newer steps fill no value yet; null: not measured",
  ),
  bytes: described(byKind(count), "over the orchestrator's port, both ways, over the whole run"),
  flight: described(v.array(hop), "where some microbatches of the open step go next"),
  samples: described(
    v.array(v.strictObject({
      round: count,
      step: count,
      loss: described(maybe, "on held-out text, in nats per token"),
      prompt: v.string(),
      text: described(v.string(), "how the model went on; it may have line breaks"),
    })),
    "of the model's text over the whole run, with the parameters after so many steps",
  ),
  stages: v.array(stage),
  memberCount: described(count, "present members"),
  reLeases: described(count, "tasks handed out again"),
  wire: described(
    v.nullable(v.strictObject({ forwardBytes: count, backwardBytes: count, bf16Bytes: count })),
    "bytes per token across one stage boundary",
  ),
  lastMerge: v.nullable(
    v.strictObject({ round: count, bytesPerMiner: count, mergeMs: count, agree: v.nullable(v.boolean()) }),
  ),
  agreement: described(
    v.array(v.strictObject({ round: count, stages: v.array(v.nullable(v.boolean())) })),
    "whether the replicas of each stage had the same parameters after the latest merges; null: one replica",
  ),
  pathways: described(v.array(pathwayShape), "some of the last closed step, evenly over its data"),
  verdicts: v.strictObject({ passed: count, failed: count, last: v.nullable(audit) }),
  news: v.array(v.strictObject({ atMs: wallClock, level: v.picklist(["info", "warn"]), text: v.string() })),
});

const member = v.strictObject({
  role: v.picklist(["miner", "validator"]),
  state: v.picklist(["loading", "ready", "lost"]),
  stage: maybe,
  loading: described(maybe, "percent of the current part"),
  tasks: described(count, "finished"),
});

const conduct = v.strictObject({
  released: described(count, "tasks taken back from it"),
  late: described(count, "answers of a merge that its stage did not wait for"),
  outrun: described(count, "answers that came late, which costs nothing"),
  faults: count,
  blamed: described(count, "faults that were proven"),
  lastFault: v.nullable(v.string()),
  audits: v.strictObject({
    passed: count,
    failed: count,
    last: v.nullable(v.strictObject({ atMs: wallClock, passed: v.boolean(), error: maybe, tolerance: maybe })),
  }),
});

const pace = v.strictObject({
  tookMs: described(count, "from sending a task to its result, the mean of a few, in milliseconds"),
  computeMs: described(count, "of these, on the device, by the miner's word"),
  leastAwayMs: described(count, "the least of a task that was not on the device: links both ways and queue"),
});

const checks = v.strictObject({
  passed: described(count, "repeated tasks and gradients that were right"),
  failed: count,
  evaluated: described(count, "rounds, on held-out text"),
  lastAtMs: wallClock,
  lastFailed: v.nullable(v.strictObject({ round: count, miner: v.string() })),
  lastLoss: described(v.nullable(v.strictObject({ round: count, loss: maybe })), "nats per token"),
});

export const snapshotShape = v.strictObject({
  version: v.literal(1),
  sequence: described(count, "of the last record in it"),
  atMs: wallClock,
  run,
  members: described(v.record(v.string(), member), "by node id; lost ones until the next merge"),
  conduct: described(v.record(v.string(), conduct), "of those members with any"),
  paces: described(v.record(v.string(), pace), "of a miner's last tasks, of those that have finished any"),
  validators: described(v.record(v.string(), checks), "what they checked, of those that have checked something"),
});

const share = v.strictObject({ node: v.string(), share: v.number() });

export const accountShape = v.strictObject({
  node: v.string(),
  role: v.nullable(v.picklist(["miner", "validator"])), // null: unknown
  sinceRound: described(maybe, "the first round that this covers; null: none has ended"),
  isExpelled: v.boolean(),
  checked: described(v.array(v.string()), "what validators repeated of it, in sentences"),
  rounds: described(
    v.array(v.strictObject({
      round: count,
      stage: maybe,
      tasks: described(count, "accepted"),
      earned: described(count, "in units of a mean stage's forward"),
      credited: described(count, "of these, in the round's report"),
      reasons: described(v.array(v.string()), "why not all of it"),
      score: maybe, // by reports and bans
      shareOfScores: maybe,
      withheldBy: described(v.array(v.string()), "validators whose own scores of it are lower"),
    })),
    "newest first",
  ),
  effects: described(v.array(v.string()), "on the loss, in sentences"),
  clasp: described(
    v.array(v.strictObject({ stage: count, samples: count, effect: count, standardError: maybe })),
    "the same as numbers, by stage: nats per token above its stage-mates; an error of null: too few samples",
  ),
  advice: described(v.array(v.string()), "what would raise its pay"),
  scores: described(
    v.nullable(v.strictObject({ round: count, own: count, shares: v.array(share) })),
    "a validator's newest scores, the highest; `own`: how many differ from the common ones",
  ),
  weights: described(
    v.nullable(v.strictObject({
      block: count,
      atMs: wallClock,
      setAtBlock: maybe, // null: a miner, or none
      given: v.array(share),
      received: v.array(v.strictObject({ validator: v.string(), share: v.number() })), // by those with most stake
    })),
    "on the run's chain, as last read; null where it has none, or none was read yet",
  ),
});

export const earningsShape = v.strictObject({
  sinceRound: described(count, "the first report that this covers"),
  round: described(count, "the newest report"),
  miners: described(
    v.array(v.strictObject({
      node: v.string(),
      earned: described(count, "in units of a mean stage's forward"),
      inEscrow: described(count, "credited, not vested yet"),
    })),
    "those with most units first, at most 64",
  ),
});

export const spanShape = v.strictObject({
  first: described(count, "the first moment, as the sequence of its record; 0: none"),
  last: count,
  firstAtMs: wallClock,
  lastAtMs: wallClock,
  gaps: described(
    v.array(v.strictObject({ from: count, to: count })),
    "records that are in no file, the first 32 gaps",
  ),
  missing: described(count, "records in all gaps"),
  damaged: described(count, "lines that cannot be read"),
});

export const refusalShape = v.strictObject({ code: v.string(), detail: v.string() });

type Published<Value> = Value extends object ? { readonly [Key in keyof Value]: Published<Value[Key]> } : Value;

export type RunSnapshot = Published<v.InferOutput<typeof snapshotShape>>;
export type PublicRun = RunSnapshot["run"];
export type PublicHop = PublicRun["flight"][number];
export type PublicMember = RunSnapshot["members"][string];
/** Separate from the member: it changes seldom. */
export type PublicConduct = RunSnapshot["conduct"][string];
export type PublicPace = RunSnapshot["paces"][string];
export type PublicChecks = RunSnapshot["validators"][string];
export type PublicPathway = Published<v.InferOutput<typeof pathwayShape>>;
export type PublicSpan = Published<v.InferOutput<typeof spanShape>>;
export type PublicAccount = Published<v.InferOutput<typeof accountShape>>;
/** The API answers null if no round has ended, or without a signed log. */
export type PublicEarnings = Published<v.InferOutput<typeof earningsShape>>;
