/** The text that an experiment's run trains on: split and tokenized with the run's seed, in a folder of its own. */

import type { RunConfig } from "../../../core/config/config.ts";
import type { BatchSource } from "../../../cli/model/data/dataset.ts";
import { planDataset } from "../../../cli/model/prepare/plan_dataset.ts";

export async function withLabData<T>(
  { folder, config }: { folder: string; config: RunConfig },
  use: (batches: BatchSource) => Promise<T>,
): Promise<T> {
  const { model: { vocabSize, contextLength }, data: { corpus, heldOutFraction, maxBytes }, seed } = config;
  const text = { corpus, vocabSize, contextLength, heldOutFraction, maxBytes, seed, isResumed: false };
  const dataset = await (await planDataset({ folder: `${folder}/seed-${seed}`, ...text })).write();
  try {
    return await use(dataset.batches({ seed, sequences: config.train.sequencesPerMicrobatch, contextLength }));
  } finally {
    dataset.close();
  }
}
