/**
 * The names of wire codecs, and the syntax of `pipeline.boundaries`. Separate from codecs.ts, because the command line
 * needs only these to start.
 */

export const codecNames = ["none", "iota", "resbm", "q4block", "q5block", "q6block"] as const;

export type Codec = typeof codecNames[number];

export type GradientBits = 4 | 5 | 6 | 7 | 8;

export const defaultGradientBits: GradientBits = 8;

const boundary = String.raw`[1-9]\d?=(?:${codecNames.join("|")})(?::[1-9]\d{0,3})?`;

/** "1=q4block:64, 3=none", or nothing. A space also separates, because `--set` splits at commas. */
export const boundariesPattern = new RegExp(`^(?:${boundary}(?:(?:, ?| )${boundary})*)?$`);

export const codecsDoc = "the whole residual stream, or a few values in 16 bits or fewer";
