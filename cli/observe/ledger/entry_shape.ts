/** Checks the shape of a log's entry, not its meaning. */

import * as v from "valibot";
import type { LogEntry } from "../../../core/ledger/entry.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const places = v.array(count);
const texts = v.array(v.string());
const amount = v.pipe(v.number(), v.finite(), v.minValue(0));
const amounts = v.array(amount);
const list = { miners: texts, units: amounts };

const recovery = v.optional(v.pipe(amount, v.maxValue(1)));

const carriedState = v.object({
  nextStep: count,
  isWhole: v.boolean(),
  forwardUnits: v.optional(amounts),
  open: v.array(v.object({ step: count, round: count, ...list })),
  newestRound: v.pipe(v.number(), v.safeInteger(), v.minValue(-1)),
  qualities: v.optional(v.object({ miners: texts, shares: amounts })),
  recovery,
  endedRound: v.optional(count),
  draws: v.optional(v.object({ round: count, hash: v.string() })),
  rounds: v.array(v.object({ round: count, ...list })),
  withheld: v.array(v.object({ validator: v.nullable(v.string()), miners: texts, rounds: places, shares: amounts })),
});

const text = v.optional(v.string());

const loggedEnd = v.object({
  node: v.nullable(v.string()),
  parameters: v.nullable(v.string()),
  answers: v.array(
    v.object({ validator: v.string(), loss: v.nullable(v.number()), tokens: count, signature: v.string() }),
  ),
});

const hash = v.nullable(v.string());
const workProof = v.object({
  ...{ step: count, previous: v.string(), root: v.string(), tasks: count, squareSum: amount, signature: v.string() },
  work: v.optional(v.object({ input: hash, gradient: hash, output: hash, losses: v.nullable(v.array(v.number())) })),
  path: v.optional(v.array(texts)),
});

const entryShape = v.variant("type", [
  v.object({
    type: v.literal("begun"),
    run: v.string(),
    hub: v.string(),
    step: count,
    round: count,
    isJournaled: v.boolean(),
    from: v.optional(v.object({ name: v.string(), parameters: v.string() })),
  }),
  v.object({ type: v.literal("carried"), run: v.string(), hub: v.string(), lost: count, state: carriedState }),
  v.object({ type: v.literal("ended"), finished: v.boolean(), reason: v.string() }),
  v.object({ type: v.literal("joined"), node: v.string(), role: v.picklist(["miner", "validator"]) }),
  v.object({ type: v.literal("assigned"), node: v.string(), stage: count, round: count }),
  v.object({ type: v.literal("left"), node: v.string(), reason: v.string(), isExpelled: v.optional(v.literal(true)) }),
  v.object({ type: v.literal("blamed"), node: v.string(), code: v.string(), detail: v.string() }),
  v.object({ type: v.literal("undone"), toStep: count, reason: v.string() }),
  v.object({
    type: v.literal("verdict"),
    ...{ round: count, validator: v.string(), miner: v.string(), stage: count, task: v.string(), passed: v.boolean() },
    ...{
      innovationError: v.number(),
      equalShare: v.number(),
      lossError: v.nullable(v.number()),
      tolerance: v.number(),
      gradient: v.optional(v.object({ claimed: amount, found: amount, least: amount })),
      ...{ work: text, step: v.optional(count), parameters: text, signature: text, proof: v.optional(workProof) },
    },
  }),
  v.object({
    ...{ type: v.literal("evaluated"), round: count, validator: v.string(), loss: v.nullable(v.number()) },
    ...{ tokens: v.optional(count), parameters: v.optional(texts), signature: text },
  }),
  v.object({
    type: v.literal("committed"),
    ...{ round: count, miners: texts, heads: texts, payloads: texts, signatures: texts },
  }),
  v.object({ type: v.literal("draws"), round: count, hash: v.string() }),
  v.object({ type: v.literal("merged"), round: count, parameters: texts, draws: v.string() }),
  v.object({
    type: v.literal("step"),
    ...{ step: count, round: count, loss: v.number(), miners: texts, tasks: places, units: amounts, unpaid: places },
    ...{ dropped: v.optional(amounts), forwardUnits: v.optional(amounts) },
    pathways: v.array(
      v.object({ microbatch: count, doers: places, makers: v.optional(places), loss: v.number() }),
    ),
  }),
  v.object({
    type: v.literal("round"),
    round: count,
    ...list,
    halved: texts,
    qualities: v.optional(amounts),
    forfeits: v.optional(v.array(v.object({ miner: v.string(), fromRound: count }))),
    isLast: v.optional(v.boolean()),
    expelled: texts,
  }),
  v.object({
    type: v.literal("tried"),
    ...{
      round: count,
      stage: count,
      tokens: count,
      base: v.number(),
      miners: texts,
      losses: v.array(v.nullable(v.number())),
      recovery,
      keepsShares: v.optional(v.literal(true)),
      parameters: v.optional(texts),
      ends: v.optional(v.array(loggedEnd)),
    },
  }),
  v.object({
    type: v.literal("scores"),
    ...{ round: count, miners: texts, scores: amounts },
    differing: v.array(v.object({ validator: v.string(), miners: texts, scores: amounts })),
  }),
]);

export function entryProblem(entry: LogEntry): string | null {
  const { issues } = v.safeParse(entryShape, entry, { abortEarly: true });
  return issues === undefined ? null : `'${v.getDotPath(issues[0]) ?? "entry"}' does not fit: ${issues[0].message}`;
}
