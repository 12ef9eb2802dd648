/** Parses an unknown header and its segments into a `HubMessage`, or a `Fault` that names the field. */

import * as v from "valibot";
import type { RunConfig } from "../../core/config/config.ts";
import { parseRunConfig } from "../../core/settings/parse.ts";
import { tasksOfPart } from "../../core/protocol/audit_messages.ts";
import type { HubMessage } from "../../core/protocol/message.ts";
import { standstills, toldDuties } from "../../core/protocol/notice.ts";
import { mostFollowed } from "../../core/protocol/stored_source.ts";
import { type MessageRules, readMessage } from "./schema_message.ts";
import {
  address,
  blobRef,
  count,
  direction,
  faultValue,
  finite,
  flag,
  hex64,
  httpUrl,
  list,
  microbatch,
  nonNegative,
  positiveCount,
  share,
  shortText,
  stage,
  task,
  text,
  traceparent,
  u32,
} from "./schema_values.ts";

/** `<until>.<hash>.<hash>.<signature>`, see peer_pass.ts. */
export const passPattern = /^\d{1,16}(\.[0-9a-f]{64}){1,2}\.[0-9a-f]{128}$/;

const config = v.pipe(
  v.unknown(),
  v.rawTransform(({ dataset, addIssue, NEVER }): RunConfig => {
    const result = parseRunConfig(dataset.value);
    if (result.ok) return result.value;
    addIssue({ message: result.fault.detail });
    return NEVER;
  }),
);

const about = <Name extends string>(name: Name) => ({ type: v.literal("notice"), about: v.literal(name) });
const notices = [
  v.strictObject({ ...about("withheld"), duty: v.picklist(toldDuties), round: count }),
  v.strictObject({ ...about("rest"), untilRound: count }),
  v.strictObject({ ...about("forfeit"), fromRound: count }),
  v.strictObject({ ...about("behind"), merges: count, startsAnew: v.boolean() }),
  v.strictObject({ ...about("rival"), from: shortText }),
  v.strictObject({
    ...about("standstill"),
    why: v.nullable(v.picklist(standstills)),
    stages: list(count),
    sinceMs: count,
  }),
] as const;

const parameterSource = v.variant("type", [
  v.strictObject({ type: v.literal("initial") }),
  v.strictObject({
    type: v.literal("blobs"),
    parameters: blobRef,
    momentum: v.nullable(blobRef),
    merge: v.exactOptional(
      v.strictObject({
        from: v.union([v.literal("initial"), hex64]),
        slices: v.pipe(list(blobRef), v.maxLength(mostFollowed)),
      }),
    ),
  }),
]);
const replaySource = v.variant("type", [
  ...parameterSource.options,
  v.strictObject({ type: v.literal("moved"), from: parameterSource, change: blobRef }),
]);
const peer = v.strictObject({
  node: address,
  url: httpUrl,
  pass: v.nullable(v.pipe(v.string(), v.regex(passPattern, "must be a pass"))),
});
const slice = v.strictObject({ offset: count, size: positiveCount });
const reduceInput = v.strictObject({ payload: blobRef, weight: nonNegative, scale: share });

const rules: MessageRules<HubMessage> = {
  welcome: {
    schema: v.strictObject({
      type: v.literal("welcome"),
      config,
      layersOfStages: list(u32),
      isKept: flag,
      shows: list(count),
    }),
  },
  assign: {
    schema: v.strictObject({
      type: v.literal("assign"),
      assignment: count,
      stage,
      round: count,
      source: parameterSource,
      peers: list(peer),
    }),
  },
  runTask: {
    schema: v.strictObject({
      type: v.literal("runTask"),
      task,
      microbatch,
      stage,
      direction,
      step: count,
      trace: v.exactOptional(traceparent),
    }),
    segments: 2,
  },
  cancelTasks: { schema: v.strictObject({ type: v.literal("cancelTasks"), tasks: list(task) }) },
  sealStep: {
    schema: v.strictObject({
      type: v.literal("sealStep"),
      round: count,
      step: count,
      request: count,
      tasks: list(task),
      delivered: list(task),
    }),
  },
  applyStep: {
    schema: v.strictObject({
      type: v.literal("applyStep"),
      step: count,
      tasks: count,
      learningRate: finite,
      clipFactor: nonNegative,
      shows: flag,
    }),
  },
  startMerge: {
    schema: v.strictObject({ type: v.literal("startMerge"), round: count, slices: list(slice), contributes: flag }),
  },
  reduceSlice: {
    schema: v.strictObject({
      type: v.literal("reduceSlice"),
      round: count,
      edition: count,
      slice: u32,
      inputs: list(reduceInput),
    }),
  },
  applyMerge: { schema: v.strictObject({ type: v.literal("applyMerge"), round: count, slices: list(blobRef) }) },
  uploadParameters: { schema: v.strictObject({ type: v.literal("uploadParameters"), round: count }) },
  evaluate: {
    schema: v.strictObject({
      type: v.literal("evaluate"),
      request: count,
      round: count,
      sources: list(parameterSource),
      isTrial: v.boolean(),
    }),
    segments: 2,
  },
  replay: {
    schema: v.strictObject({
      type: v.literal("replay"),
      request: count,
      round: count,
      miner: address,
      task,
      stage,
      direction,
      losses: v.nullable(list(finite)),
      source: replaySource,
    }),
    segments: 3,
  },
  repeatGradient: {
    schema: v.strictObject({
      type: v.literal("repeatGradient"),
      request: count,
      round: count,
      step: count,
      miner: address,
      task,
      stage,
      direction,
      first: count,
      isLast: flag,
      source: replaySource,
    }),
    segments: 2 * tasksOfPart,
  },
  gradientClaimed: {
    schema: v.strictObject({
      type: v.literal("gradientClaimed"),
      request: count,
      claimed: nonNegative,
      least: nonNegative,
    }),
  },
  workReport: {
    schema: v.pipe(
      v.strictObject({
        type: v.literal("workReport"),
        round: count,
        miners: list(address),
        units: list(nonNegative),
        expelled: list(address),
        forfeits: list(v.strictObject({ miner: address, fromRound: count })),
        isLast: flag,
      }),
      v.check(({ miners, units }) => miners.length === units.length, "there must be one count of units per miner"),
    ),
  },
  leaveAnswered: { schema: v.strictObject({ type: v.literal("leaveAnswered"), isNeeded: flag }) },
  notice: { schema: v.variant("about", notices) },
  reject: { schema: v.strictObject({ type: v.literal("reject"), fault: faultValue }) },
  stop: { schema: v.strictObject({ type: v.literal("stop"), finished: flag, reason: text }) },
};

export const readHubMessage = readMessage(rules);
