/**
 * The names of payload codecs and reducers. Separate from the records (payload_codecs.ts), because the configuration
 * needs only these.
 */

export const payloadCodecDocs = {
  float32: "4 bytes a value",
  bf16: "2 bytes",
  int8: "1 byte",
  sparse: "few values by their signs",
} as const;

export type PayloadCodecName = keyof typeof payloadCodecDocs;

export const payloadCodecNames = Object.keys(payloadCodecDocs) as readonly PayloadCodecName[];

export const defaultPayloadCodec: PayloadCodecName = "float32";

/**
 * The share of values in a sparse payload: 64 of 4096, as in SparseLoCo (arXiv 2508.15706). A coordinate waits for 64
 * rounds on average, so a run of few rounds needs more (tests/lab/LOG.md).
 */
export const densities = { min: 1 / 4096, max: 1 / 4, default: 1 / 64 } as const;

/**
 * `hub`: only the orchestrator averages payloads, which halves what a merge sends; `replicas`: pairs share the work and
 * the orchestrator repeats it; `auto`: `hub` where it has little to read. The orchestrator's result always decides.
 */
export const reducerNames = ["auto", "hub", "replicas"] as const;

export type Reducers = typeof reducerNames[number];

export const defaultReducers: Reducers = "auto";
