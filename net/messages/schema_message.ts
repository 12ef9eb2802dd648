/** Builds a parser for one union from a table of schemas: `type` picks the schema, and every fault names it. */

import type * as v from "valibot";
import { type Parsed, refused } from "../../core/fault.ts";
import { parseWith } from "./schema_values.ts";

export type Read<In> = (header: unknown, segments: readonly Uint8Array[]) => Parsed<In>;

interface MessageRule<T> {
  readonly schema: v.GenericSchema<unknown, T>;
  readonly segments?: number; // maximum; 0 if absent
}

export type MessageRules<M extends { readonly type: string }> = {
  readonly [T in M["type"]]: MessageRule<Extract<M, { readonly type: T }>>;
};

export function readMessage<M extends { readonly type: string }>(rules: MessageRules<M>): Read<M> {
  const byType = new Map<unknown, MessageRule<M>>(Object.entries<MessageRule<M>>(rules));
  return (header, segments): Parsed<M> => {
    const type = typeof header === "object" && header !== null && "type" in header ? header.type : undefined;
    const rule = byType.get(type);
    if (rule === undefined) {
      return refused("malformedMessage", `Cannot read a message of the unknown type ${shown(type)}`);
    }
    const most = rule.segments ?? 0;
    if (segments.length > most) {
      return refused(
        "malformedMessage",
        `Cannot read a ${shown(type)}: it has ${segments.length} segments, and may have ${most}`,
      );
    }
    return parseWith(rule.schema, header, `a ${shown(type)}`);
  };
}

const shown = (type: unknown): string => typeof type === "string" ? type.slice(0, 40) : `(a ${typeof type})`;
