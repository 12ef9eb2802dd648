/** IPv4 and IPv6 as numbers (one `::`, no zone, no leading zeros in IPv4, IPv4 tails as `::ffff:1.2.3.4`). */

export interface IpAddress {
  readonly version: 4 | 6;
  readonly bits: bigint;
}

const groups = 8;

export function ipOfText(text: string): IpAddress | null {
  const v4 = bitsOfV4(text);
  if (v4 !== null) return { version: 4, bits: v4 };
  const v6 = bitsOfV6(text);
  return v6 === null ? null : { version: 6, bits: v6 };
}

function bitsOfV4(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return null;
  return parts.reduce((bits, part) => bits << 8n | BigInt(part), 0n);
}

function bitsOfV6(text: string): bigint | null {
  const tail = bitsOfV4(text.slice(text.lastIndexOf(":") + 1));
  const plain = tail === null
    ? text
    : `${text.slice(0, text.lastIndexOf(":") + 1)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const halves = plain.split("::").map((half) => half === "" ? [] : half.split(":"));
  const [head = [], rest = []] = halves;
  const missing = groups - head.length - rest.length;
  if (halves.length > 2 || (halves.length === 2 ? missing < 1 : missing !== 0)) return null;
  const all = [...head, ...new Array<string>(missing).fill("0"), ...rest];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  return all.reduce((bits, group) => bits << 16n | BigInt(`0x${group}`), 0n);
}

/** The first longest run of zeros becomes `::`. */
export function textOfIp({ version, bits }: IpAddress): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => bits >> shift & 0xffn).join(".");
  const all = Array.from({ length: groups }, (_, i) => bits >> BigInt(16 * (groups - 1 - i)) & 0xffffn);
  let best = { start: 0, length: 1 }; // a single zero group stays
  for (let start = 0; start < groups; start++) {
    let length = 0;
    while (start + length < groups && all[start + length] === 0n) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = all.map((group) => group.toString(16));
  if (best.length < 2) return hex.join(":");
  return `${hex.slice(0, best.start).join(":")}::${hex.slice(best.start + best.length).join(":")}`;
}
