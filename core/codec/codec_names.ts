/**
 * The names of wire codecs, which people type and a run's configuration carries, with what each is. They stand apart from the
 * records (codecs.ts), because the command line needs the names alone to start.
 */

export const codecDocs = {
  none: "float32 residual stream",
  iota: "bf16 bottleneck",
  q4block: "4-bit bottleneck",
  q5block: "5-bit bottleneck",
  q6block: "6-bit bottleneck",
} as const;

export type Codec = keyof typeof codecDocs;

export const codecNames = Object.keys(codecDocs) as readonly Codec[]; // it has no other keys

export const defaultCodec: Codec = "iota";
