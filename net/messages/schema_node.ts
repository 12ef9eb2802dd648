/** Parses an unknown header and its segments into a `NodeMessage`, or a `Fault` that names the field. */

import * as v from "valibot";
import { loadingParts, type NodeMessage } from "../../core/protocol/message.ts";
import { type MessageRules, readMessage } from "./schema_message.ts";
import {
  blobRef,
  count,
  faultValue,
  finite,
  hex64,
  httpUrl,
  list,
  nonNegative,
  role,
  share,
  shortText,
  signature,
  stage,
  task,
  text,
  u32,
} from "./schema_values.ts";

const rules: MessageRules<NodeMessage> = {
  join: {
    schema: v.strictObject({
      type: v.literal("join"),
      role,
      adapter: shortText,
      previousStage: v.nullable(stage),
      holding: v.nullable(
        v.strictObject({ assignment: count, round: count, step: v.nullable(count), tasks: list(task) }),
      ),
      listens: v.nullable(httpUrl),
    }),
  },
  loading: {
    schema: v.strictObject({
      type: v.literal("loading"),
      assignment: count,
      part: v.picklist(loadingParts),
      percent: v.pipe(count, v.maxValue(100)),
    }),
  },
  ready: {
    schema: v.strictObject({
      type: v.literal("ready"),
      assignment: count,
      parameters: blobRef,
      optimizer: v.exactOptional(v.literal("empty")),
    }),
  },
  taskDone: {
    schema: v.strictObject({
      type: v.literal("taskDone"),
      task,
      losses: v.nullable(list(finite)),
      computeMs: nonNegative,
    }),
    segments: 1,
  },
  loadFailed: { schema: v.strictObject({ type: v.literal("loadFailed"), assignment: count, fault: faultValue }) },
  taskFailed: { schema: v.strictObject({ type: v.literal("taskFailed"), task, fault: faultValue }) },
  stepSealed: {
    schema: v.strictObject({
      type: v.literal("stepSealed"),
      step: count,
      request: count,
      tasks: count,
      gradientSquareSum: nonNegative,
      root: hex64,
      signature,
    }),
  },
  stateShown: { schema: v.strictObject({ type: v.literal("stateShown"), round: count, step: count, change: blobRef }) },
  payloadCommitted: {
    schema: v.strictObject({
      type: v.literal("payloadCommitted"),
      round: count,
      slices: list(blobRef),
      payload: hex64,
      head: hex64,
      signature,
    }),
  },
  sliceReduced: {
    schema: v.strictObject({
      type: v.literal("sliceReduced"),
      round: count,
      edition: count,
      slice: u32,
      result: blobRef,
    }),
  },
  mergeApplied: {
    schema: v.strictObject({
      type: v.literal("mergeApplied"),
      round: count,
      parameters: blobRef,
      momentum: v.nullable(blobRef),
    }),
  },
  parametersUploaded: {
    schema: v.strictObject({
      type: v.literal("parametersUploaded"),
      round: count,
      parameters: blobRef,
      momentum: v.nullable(blobRef),
    }),
  },
  mergeFailed: { schema: v.strictObject({ type: v.literal("mergeFailed"), round: count, fault: faultValue }) },
  evaluated: {
    schema: v.strictObject({
      type: v.literal("evaluated"),
      request: count,
      loss: v.nullable(finite),
      tokens: count,
      signature,
    }),
  },
  replayed: {
    schema: v.strictObject({
      type: v.literal("replayed"),
      request: count,
      innovationError: nonNegative,
      equalShare: share,
      lossError: v.nullable(nonNegative),
      signature,
    }),
  },
  gradientRepeated: {
    schema: v.strictObject({
      type: v.literal("gradientRepeated"),
      request: count,
      squareSum: v.nullable(nonNegative),
      signature: v.nullable(signature),
    }),
  },
  requestFailed: { schema: v.strictObject({ type: v.literal("requestFailed"), request: count, fault: faultValue }) },
  askToLeave: { schema: v.strictObject({ type: v.literal("askToLeave") }) },
  leaving: { schema: v.strictObject({ type: v.literal("leaving"), reason: text }) },
};

export const readNodeMessage = readMessage(rules);
