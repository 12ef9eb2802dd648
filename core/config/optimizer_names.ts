/**
 * The names of optimizers, which people type and a run's configuration carries, with what each is. They stand apart from the
 * records (optimizers.ts), because the configuration needs the names alone.
 */

export const optimizerDocs = {
  adamw: "AdamW",
  muon: "Muon for matrices of blocks and boundaries",
} as const;

export type OptimizerName = keyof typeof optimizerDocs;

export const optimizerNames = Object.keys(optimizerDocs) as readonly OptimizerName[]; // it has no other keys

/** Also of a configuration that names none. */
export const defaultOptimizer: OptimizerName = "adamw";
