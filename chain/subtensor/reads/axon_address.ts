/** Miners' addresses as the chain accepts them. */

import * as v from "valibot";
import type { AxonAddress } from "../../call.ts";
import { ipOfText, textOfIp } from "../../ip_address.ts";
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
  return { ip: textOfIp({ version: stored.ipType === 6 ? 6 : 4, bits: stored.ip }), port, protocol, version };
}

/** The pool's name. */
export function axonProblem({ ip, port }: AxonAddress): "InvalidIpAddress" | "InvalidPort" | null {
  const parsed = ipOfText(ip);
  if (parsed === null || parsed.bits === 0n) return "InvalidIpAddress";
  const { version, bits } = parsed;
  const isLoopback = version === 4 ? bits >> 24n === 127n : bits === 1n;
  const isBroadcast = version === 4 ? bits === 0xffff_ffffn : bits === (1n << 128n) - 1n;
  if (isLoopback || isBroadcast) return "InvalidIpAddress";
  return Number.isInteger(port) && port > 0 && port < 65_536 ? null : "InvalidPort";
}
