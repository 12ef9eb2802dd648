/**
 * The smallest stage with the kernels of a given one, for comparing devices: one layer at full widths, which decide the
 * kernel. Tokens and vocabulary are cut only if the processor would take long.
 */

import { parameterTable, type StageSpec } from "../../core/model/spec.ts";

const mostFlops = 2e10; // of a task: two seconds of one slow thread
const mostFloats = 2 ** 26; // of parameters: 256 MiB, and as much of gradients
const leastTokens = 64; // per sequence: a kernel's largest tile of rows
const flopsPerFloat = 6; // per token: a product in the forward, two in the backward
const vocabularyStep = 64;

export function checkedStage(spec: StageSpec): StageSpec {
  const oneLayer = withLessVocabulary({ ...spec, layerCount: 1 });
  const floats = parameterTable(oneLayer).length;
  const isLong = (tokens: number) => flopsPerFloat * floats * tokens > mostFlops;
  let { sequences, model: { contextLength } } = oneLayer;
  while (sequences > 1 && isLong(sequences * contextLength)) sequences = Math.ceil(sequences / 2);
  while (contextLength % 2 === 0 && contextLength > leastTokens && isLong(contextLength)) contextLength /= 2;
  return { ...oneLayer, sequences, model: { ...oneLayer.model, contextLength } };
}

function withLessVocabulary(spec: StageSpec): StageSpec {
  const { model } = spec;
  const excess = parameterTable(spec).length - mostFloats;
  if (excess <= 0) return spec;
  const fewer = model.vocabSize - Math.ceil(excess / model.width);
  const vocabSize = Math.max(vocabularyStep, vocabularyStep * Math.floor(fewer / vocabularyStep));
  const shorter = { ...spec, model: { ...model, vocabSize: Math.min(vocabSize, model.vocabSize) } };
  return parameterTable(shorter).length < parameterTable(spec).length ? shorter : spec; // a body has no vocabulary
}
