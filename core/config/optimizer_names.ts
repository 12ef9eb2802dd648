/**
 * The names of optimizers, as typed and as in a run's configuration, each with a description. Separate from the records
 * (optimizers.ts), because the configuration needs only the names.
 */

export const optimizerDocs = {
  adamw: "AdamW",
  muon: "Muon for matrices of blocks and boundaries",
} as const;

export type OptimizerName = keyof typeof optimizerDocs;

export const optimizerNames = Object.keys(optimizerDocs) as readonly OptimizerName[]; // it has no other keys

/** Used when a configuration names none. */
export const defaultOptimizer: OptimizerName = "adamw";
