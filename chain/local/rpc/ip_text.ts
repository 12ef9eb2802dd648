/** An IP address of a call as text: the chain counts them as numbers with a version beside. Null: the number is none. */

export function textOfIp({ version, bits }: { readonly version: number; readonly bits: bigint }): string | null {
  if (version === 4) {
    return bits >> 32n === 0n ? [24n, 16n, 8n, 0n].map((shift) => String(bits >> shift & 255n)).join(".") : null;
  }
  if (version !== 6) return null;
  const groups = Array.from({ length: 8 }, (_, i) => (bits >> BigInt(112 - 16 * i) & 0xffffn).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1); // the canonical spelling
}
