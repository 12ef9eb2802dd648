/**
 * The names of payload codecs and of reducers, as typed and as in a run's configuration. Separate from the records
 * (payload_codecs.ts), because the configuration and the command line need only the names.
 */

export const payloadCodecDocs = {
  float32: "4 bytes a value",
  bf16: "2 bytes",
  int8: "1 byte",
  sparse: "few values by their signs",
} as const;

export type PayloadCodecName = keyof typeof payloadCodecDocs;

export const payloadCodecNames = Object.keys(payloadCodecDocs) as readonly PayloadCodecName[]; // it has no other keys

/** Used when a configuration names none. */
export const defaultPayloadCodec: PayloadCodecName = "float32";

/**
 * The share of values in a sparse payload: 64 of 4096, as in SparseLoCo (arXiv 2508.15706). A coordinate then waits for
 * 64 rounds on average, so a run of few rounds needs a larger share (tests/lab/LOG.md).
 */
export const densities = { min: 1 / 4096, max: 1 / 4, default: 1 / 64 } as const;

/**
 * Who averages the payloads of a stage's merge. The orchestrator's result decides in any case
 * (orchestrator/merge/reducing.ts). `hub`: only the orchestrator averages, which halves what a merge sends; `replicas`:
 * pairs of replicas share the work and the orchestrator repeats it; `auto`: the orchestrator where it has little to
 * read.
 */
export const reducerNames = ["auto", "hub", "replicas"] as const;

export type Reducers = typeof reducerNames[number];

/** Used when a configuration names none. */
export const defaultReducers: Reducers = "auto";
