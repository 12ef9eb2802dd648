/**
 * HTTP requests for `wallet sign` and `wallet verify`: the options that describe one, its headers, and checking them.
 *
 * Owns: reading both from the command line and from files. Out of scope: protocols (net/auth/btauth.ts,
 * net/auth/epistula.ts), sending. A body is signed exactly as the file has it.
 */

import { type Parsed, parsed } from "../../core/fault.ts";
import { type NodeId, nodeId } from "../../core/ids.ts";
import type { Signer } from "../../net/auth/hello.ts";
import type { CommandContext, OptionSpec } from "../terminal/command.ts";
import { attempting, UsageError, UserError } from "../program/errors.ts";

const kinds = ["btauth", "epistula", "epistula-v2"] as const;

export const requestOptions: readonly OptionSpec[] = [
  {
    name: "request",
    kind: "choice",
    placeholder: "KIND",
    choices: kinds,
    doc: "sign or check an HTTP request instead of a text",
  },
  {
    name: "method",
    kind: "string",
    placeholder: "METHOD",
    defaultText: "GET",
    doc: "the request's method; epistula does not cover it",
  },
  {
    name: "target",
    kind: "string",
    placeholder: "PATH",
    doc: "the request's path and query as sent; epistula does not cover them",
  },
  { name: "body", kind: "string", placeholder: "FILE", defaultText: "empty", doc: "the request's body" },
  {
    name: "receiver",
    kind: "string",
    placeholder: "SS58",
    doc: "the hotkey of the node that receives the request",
  },
];

export const headerOptions: readonly OptionSpec[] = [
  {
    name: "headers",
    kind: "string",
    placeholder: "FILE",
    doc: "the request's headers: one per line as wallet sign or curl -v prints them, or JSON",
  },
  {
    name: "max-age",
    kind: "float",
    placeholder: "SECONDS",
    default: 10,
    min: 0,
    doc: "the oldest request to accept",
  },
];

export interface RequestToSign {
  readonly kind: (typeof kinds)[number];
  readonly method: string;
  readonly target: string;
  readonly body: Uint8Array;
  readonly receiver: NodeId | null; // null: any node
}

/** The request that the command line describes; null: none. */
export async function readRequest({ options }: CommandContext): Promise<RequestToSign | null> {
  const kind = kinds.find((each) => each === options.text("request"));
  const described = ["method", "target", "body", "receiver"].find((name) => options.given(name));
  if (kind === undefined) {
    if (described === undefined) return null;
    throw new UsageError(`Cannot use --${described} without --request as a text has none`, {
      next: `Say how it is signed: --request ${kinds.join("|")}`,
    });
  }
  const target = options.text("target");
  if (kind === "btauth" && !target?.startsWith("/")) {
    throw new UsageError("Cannot use --request btauth as --target must be a path that begins with /", {
      next: "For example: --target '/generate?top=1'",
    });
  }
  const path = options.text("body");
  return {
    kind,
    method: options.text("method") ?? "GET",
    target: target ?? "",
    body: path === undefined
      ? new Uint8Array(0)
      : await attempting({ action: "read a body", value: path }, () => Deno.readFile(path)),
    receiver: await readReceiver(options.text("receiver")),
  };
}

async function readReceiver(text: string | undefined): Promise<NodeId | null> {
  const { decodeAddress } = await import("../../chain/wallet/ss58.ts");
  if (text === undefined) return null;
  if (decodeAddress(text) !== null) return nodeId(text);
  throw new UsageError("Cannot use --receiver as it must be an ss58 address with prefix 42: it is not", {
    next: "Copy it again: it begins with 5 and has 48 characters",
  });
}

/** The headers that authenticate the request, signed now. */
export async function signedHeaders(request: RequestToSign, signer: Signer): Promise<Record<string, string>> {
  const { systemRandom, systemTimers } = await import("../../net/timers.ts");
  const { kind, method, target, body, receiver } = request;
  if (kind === "btauth") {
    const { NonceSource, signBtauth } = await import("../../net/auth/btauth.ts");
    const { sha256Hex } = await import("../../net/auth/signed_headers.ts");
    const nonceNs = new NonceSource(systemTimers, systemRandom).next();
    return signBtauth({ method, target, bodyHash: sha256Hex(body) }, { signer, receiver, nonceNs });
  }
  const { signEpistula } = await import("../../net/auth/epistula.ts");
  const uuid = kind === "epistula" ? null : crypto.randomUUID();
  return signEpistula(body, { timestampMs: systemTimers.nowMs(), uuid, signedFor: receiver }, signer);
}

const headerLine = /^\s*(?:>|-H|header\s*=)?\s*["']?([\w-]+)\s*:\s*([\x20-\x7e]*?)["']?\s*\\?\s*$/;

/** From a file with one header per line, as people and curl write them, or from the output of `wallet sign --json`. */
export async function readHeaders(path: string): Promise<Headers> {
  const text = await attempting({ action: "read headers", value: path }, () => Deno.readTextFile(path));
  const found = new Headers();
  const fields = text.trimStart().startsWith("{") ? await headersOfJson(text) : headersOfLines(text);
  for (const [name, value] of fields) {
    found.append(name, value);
  }
  if ([...found].length > 0) return found;
  throw new UserError(`Cannot verify a request as ${path} must have one header per line: it has none`, {
    next: "For example: X-Bittensor-Version: 1",
  });
}

function headersOfLines(text: string): [string, string][] {
  return text.split("\n").flatMap((line) => {
    const match = headerLine.exec(line);
    return match === null ? [] : [[match[1]!, match[2]!]];
  });
}

async function headersOfJson(text: string): Promise<[string, string][]> {
  const v = await import("valibot");
  const value = v.safeParse(
    v.pipe(
      v.string(),
      v.parseJson(),
      v.object({
        headers: v.record(v.pipe(v.string(), v.regex(/^[\w-]+$/)), v.pipe(v.string(), v.regex(/^[\x20-\x7e]*$/))),
      }),
    ),
    text,
  );
  return value.success ? Object.entries(value.output.headers) : [];
}

/** Who signed the request for `receiver`, and how long ago; or why it is not authentic. */
export async function verifiedRequest(
  request: RequestToSign & { receiver: NodeId },
  from: { headers: Headers; maxAgeMs: number },
): Promise<Parsed<{ address: NodeId; ageMs: number }>> {
  const { verifySignature: verify } = await import("../../chain/wallet/hotkey.ts");
  const { defaultTimeWindow, sha256Hex } = await import("../../net/auth/signed_headers.ts");
  const { systemTimers } = await import("../../net/timers.ts");
  const { kind, method, target, body, receiver: self } = request;
  const nowMs = systemTimers.nowMs();
  const check = { self, nowMs, verify, window: { ...defaultTimeWindow, pastMs: from.maxAgeMs } };
  if (kind === "btauth") {
    const { verifyBtauth } = await import("../../net/auth/btauth.ts");
    const found = verifyBtauth({ method, target, bodyHash: sha256Hex(body) }, from.headers, check);
    if (!found.ok) return found;
    return parsed({ address: found.value.sender, ageMs: nowMs - Number(found.value.nonceNs / 1_000_000n) });
  }
  const { verifyEpistula } = await import("../../net/auth/epistula.ts");
  const found = verifyEpistula(body, from.headers, check);
  if (!found.ok) return found;
  return parsed({ address: found.value.sender, ageMs: nowMs - found.value.stamp.timestampMs });
}
