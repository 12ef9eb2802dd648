/** Amounts of memory as people type them: `16GiB`, `500MiB`, `8GB`. */

import { UsageError } from "../../program/errors.ts";

const unitBytes: Readonly<Record<string, number>> = {
  ...{ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  ...{ KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
};

export function bytesOf(text: string): number | null {
  const [, digits, unit] = /^(\d+(?:\.\d+)?) ?([KMGT]i?B)$/.exec(text) ?? [];
  const bytes = Number(digits) * unitBytes[unit ?? ""]!;
  return bytes > 0 && bytes <= Number.MAX_SAFE_INTEGER ? bytes : null; // false for NaN
}

export function byteOption(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const bytes = bytesOf(text);
  if (bytes !== null) return bytes;
  throw new UsageError(
    `--${name} must be a number with a unit of bytes, but is '${text}'`,
    { next: `For example: --${name} 16GiB; also 500MiB, 8GB` },
  );
}
