/** The names of optimizers. Separate from the records (optimizers.ts), because the configuration needs only these. */

export const optimizerDocs = {
  adamw: "AdamW",
  muon: "Muon for matrices of blocks and boundaries",
} as const;

export type OptimizerName = keyof typeof optimizerDocs;

export const optimizerNames = Object.keys(optimizerDocs) as readonly OptimizerName[];

export const defaultOptimizer: OptimizerName = "adamw";
