/**
 * The names of wire codecs, as typed and as in a run's configuration, and the syntax of a text that gives boundaries
 * other codecs (parsed by core/model/boundaries.ts). Separate from the records (codecs.ts), because the command line
 * needs only the names to start.
 */

export const codecNames = ["none", "iota", "resbm", "q4block", "q5block", "q6block"] as const;

export type Codec = typeof codecNames[number];

/** Bits per gradient value, on codecs that have codes. */
export type GradientBits = 4 | 5 | 6 | 7 | 8;

export const defaultGradientBits: GradientBits = 8;

const boundary = String.raw`[1-9]\d?=(?:${codecNames.join("|")})(?::[1-9]\d{0,3})?`;

/**
 * "1=q4block:64, 3=none", or nothing. A space alone also separates them, because `--set` separates settings by commas.
 */
export const boundariesPattern = new RegExp(`^(?:${boundary}(?:(?:, ?| )${boundary})*)?$`);

export const codecsDoc = "the whole residual stream, or a few values in 16 bits or fewer";
