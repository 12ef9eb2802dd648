/** Untrusted parameters; invalid ones are an `RpcError`. */

import { hexOf } from "../hex.ts";
import { invalidParams } from "../rpc_error.ts";

export type Params = readonly unknown[];

/** 0x is optional, as in nodes: the Python SDK omits it. */
export function bytesParam(value: unknown, name: string): Uint8Array {
  const digits = typeof value === "string" && value.startsWith("0x") ? value.slice(2) : value;
  if (typeof digits !== "string" || digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw invalidParams(`${name} must be bytes as hex digits`);
  }
  return Uint8Array.fromHex(digits);
}

export function hashParam(value: unknown, name: string): Uint8Array {
  const bytes = bytesParam(value, name);
  if (bytes.length !== 32) throw invalidParams(`${name} must have 32 bytes: current value is ${hexOf(bytes)}`);
  return bytes;
}

export function optional<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : read(value);
}

export function textParam(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalidParams(`${name} must be a text`);
  return value;
}

/** Older clients send hex. */
export function countParam(value: unknown, name: string): number {
  const number = typeof value === "string" && /^0x[0-9a-fA-F]{1,8}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 0 || number > 0xffff_ffff) {
    throw invalidParams(`${name} must be a whole number of at most 32 bits`);
  }
  return number;
}

export function listParam(value: unknown, options: { name: string; limit: number }): Params {
  const { name, limit } = options;
  if (!Array.isArray(value) || value.length > limit) throw invalidParams(`${name} must be a list of at most ${limit}`);
  return value;
}
