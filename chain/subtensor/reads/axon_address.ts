/** Miners' addresses as the chain accepts them. */

import * as v from "valibot";
import type { AxonAddress } from "../../call.ts";
import { bigInteger, integer } from "../connection/plain_values.ts";

export const axonSchema = v.object({
  block: integer,
  version: integer,
  ip: bigInteger,
  port: integer,
  ipType: integer,
  protocol: integer,
});

export type StoredAxon = v.InferOutput<typeof axonSchema>;

/** Null: never announced. */
export function axonFrom(stored: StoredAxon): AxonAddress | null {
  if (stored.port === 0 || stored.ip === 0n) return null;
  const { port, protocol, version } = stored;
  return { ip: stored.ipType === 6 ? ipv6Text(stored.ip) : ipv4Text(stored.ip), port, protocol, version };
}

export function parseIp(text: string): { value: bigint; ipType: 4 | 6 } | null {
  const value = text.includes(":") ? parseIpv6(text) : parseIpv4(text);
  return value === null ? null : { value, ipType: text.includes(":") ? 6 : 4 };
}

/** The pool's name. */
export function axonProblem({ ip, port }: AxonAddress): "InvalidIpAddress" | "InvalidPort" | null {
  const parsed = parseIp(ip);
  if (parsed === null || parsed.value === 0n) return "InvalidIpAddress";
  const { value, ipType } = parsed;
  const isLoopback = ipType === 4 ? value >> 24n === 127n : value === 1n;
  const isBroadcast = ipType === 4 ? value === 0xffff_ffffn : value === (1n << 128n) - 1n;
  if (isLoopback || isBroadcast) return "InvalidIpAddress";
  return Number.isInteger(port) && port > 0 && port < 65_536 ? null : "InvalidPort";
}

function parseIpv4(text: string): bigint | null {
  const parts = text.split(".");
  const isPlain = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return isPlain ? parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n) : null;
}

/** The URL parser returns the short spelling. */
function parseIpv6(text: string): bigint | null {
  if (!URL.canParse(`http://[${text}]/`)) return null;
  const short = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [head = "", tail] = short.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = new Array<string>(tail === undefined ? 0 : 8 - before.length - after.length).fill("0");
  return [...before, ...zeros, ...after].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

function ipv4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
}

function ipv6Text(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}
