/**
 * UTF-16 and UTF-32 text, by its mark or by decoding it.
 *
 * Any text has spaces or line ends. Decoded in the right order of the bytes they are U+0020 and U+000A; in the wrong order they are
 * U+2000 and U+0A00, which no text has. What decodes so that nearly all of it is letters, digits, punctuation and spaces is text,
 * in whichever script.
 */

export type WideEncoding = "UTF-16" | "UTF-32" | "UTF-16LE" | "UTF-16BE"; // with a mark, the mark says the order of the bytes

const sampleBytes = 65_536;
const leastText = 0.95; // of the characters: a few may be newer than this program's tables
const mostSwapped = 0.1; // of the blanks

/** Null: it is not, or the bytes say nothing. */
export function wideEncoding(bytes: Uint8Array): WideEncoding | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? "UTF-32" : "UTF-16";
  if (a === 0xfe && b === 0xff) return "UTF-16";
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return "UTF-32";
  const sample = bytes.subarray(0, Math.min(sampleBytes, bytes.length & ~1));
  if (!sample.includes(0) || isNarrow(sample)) return null;
  if (isText(sample, "utf-16le")) return "UTF-16LE";
  return isText(sample, "utf-16be") ? "UTF-16BE" : null;
}

/** ASCII with zero bytes here and there: where it is decoded in pairs, it would look like Chinese. */
function isNarrow(sample: Uint8Array): boolean {
  const rest = sample.filter((byte) => byte !== 0);
  return rest.length > 0.75 * sample.length && rest.every((byte) => byte < 0x80 && (byte >= 0x20 || isBlank(byte)));
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function isText(sample: Uint8Array, encoding: "utf-16le" | "utf-16be"): boolean {
  const text = new TextDecoder(encoding).decode(sample);
  if (text.includes("\0")) return false;
  const count = (sign: RegExp) => text.match(sign)?.length ?? 0;
  const blanks = count(/[ \n\r]/g);
  return blanks > 0 && count(/[\u2000\u0a00\u0d00]/g) <= mostSwapped * blanks &&
    count(/[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\n\r\t]/gu) >= leastText * [...text].length;
}
