/** A toy model in memory as a source of texts: bytes as tokens, three layers, a context of 8 tokens unless said otherwise. */

import { formatTokenizer } from "../../cli/model/data/tokenizer_file.ts";
import type { ModelSource } from "../../cli/model/source/model_source.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { TrainedTokenizer } from "../../core/tokenizer/trained_tokenizer.ts";
import { parametersOf, tinyConfig } from "./tiny_model.ts";

const toyTokenizerFile = () => new TextEncoder().encode(formatTokenizer(toyTokenizer));

export const toyTokenizer = new TrainedTokenizer({ merges: [] }); // 256 bytes and <|endoftext|>

export function toyModel(
  { stages = 1, contextLength = 8 }: { stages?: number; contextLength?: number } = {},
): ModelSource {
  // Rows beyond the tokenizer's are never sampled.
  const plan = tinyConfig({ model: { vocabSize: 320, contextLength, layers: 3 }, pipeline: { stages } });
  return {
    ...{ path: "toy", trained: null, isTied: false, plan, layersOfStages: splitLayers(plan), tokenizer: toyTokenizer },
    ...{ ends: new Set([toyTokenizer.endOfText]), chat: null, settings: new Map() },
    tokenizerFile: toyTokenizerFile(),
    readStage: (spec) => Promise.resolve(parametersOf(spec).map((value) => value * 4)), // sharper than at the start of a run
  };
}
