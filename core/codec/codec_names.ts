/**
 * The names of wire codecs, which people type and a run's configuration carries, and the form of a text that gives boundaries
 * codecs of their own (core/model/boundaries.ts reads it). They stand apart from the records (codecs.ts),
 * because the command line needs the names alone to start.
 */

export const codecNames = ["none", "iota", "resbm", "q4block", "q5block", "q6block"] as const;

export type Codec = typeof codecNames[number];

/** Of the codes in which gradients come back over a codec that has codes. */
export type GradientBits = 4 | 5 | 6 | 7 | 8;

export const defaultGradientBits: GradientBits = 8;

const boundary = String.raw`[1-9]\d?=(?:${codecNames.join("|")})(?::[1-9]\d{0,3})?`;

/** "1=q4block:64, 3=none", or nothing. A space alone parts them too, as `--set` parts settings by commas. */
export const boundariesPattern = new RegExp(`^(?:${boundary}(?:(?:, ?| )${boundary})*)?$`);

export const codecsDoc = "the whole residual stream, or a few values in 16 bits or fewer";
