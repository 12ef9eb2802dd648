/**
 * The names of wire codecs, which people type and a run's configuration carries. They stand apart from the records (codecs.ts),
 * because the command line needs the names alone to start.
 */

export const codecNames = ["none", "iota", "q4block", "q5block", "q6block"] as const;

export type Codec = typeof codecNames[number];

export const codecsDoc = "the whole residual stream, or a few values in 16 bits (iota) or fewer";
