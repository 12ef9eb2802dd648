/**
 * An invite: the orchestrator's address, the run and the key that it must prove, as one word in canonical spelling.
 *
 *  iota://203.0.113.7:9009/small-1a2b3c4d#5F…, iotas://run.example/small-1a2b3c4d#5F… (TLS),
 *  iota://[2001:db8::7]:9009/…
 *
 * A stranger may have written it, so parsing is strict.
 */

import { ipOfText, textOfIp } from "../../chain/ip_address.ts";
import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { type NodeId, nodeId } from "../../core/ids.ts";

export interface Invite {
  readonly socket: string;
  readonly run: string;
  readonly hub: NodeId;
}

const inviteCharsMax = 400;

const protocols = { iota: "ws", iotas: "wss" } as const;
const usualPorts: Readonly<Record<string, number>> = { ws: 80, wss: 443 };
const invitePattern = /^(iotas?):\/\/([^/#]+)((?:\/[^/#]+)*)\/([^/#]+)#([^/#]+)$/;
const runPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const socketPattern = /^(wss?):\/\/([^/]+)((?:\/[^/]+)*)$/;
const pathPattern = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]{1,64}){0,4}$/;

export const isInvite = (text: string): boolean => /^iotas?:/i.test(text);

export function readInvite(text: string): Invite | null {
  const parts = text.length > inviteCharsMax ? null : invitePattern.exec(text);
  if (parts === null) return null;
  const [, scheme, place, path, run, hub] = parts as unknown as [string, keyof typeof protocols, ...string[]];
  const socket = socketOf({ protocol: protocols[scheme], place: place!, path: path! });
  if (socket === null || !runPattern.test(run!) || decodeAddress(hub!) === null) return null;
  return { socket, run: run!, hub: nodeId(hub!) };
}

export function inviteRule(text: string): string {
  if (/\s/.test(text)) return "an invite must be one word, without blanks or line ends in it";
  const key = invitePattern.exec(text)?.[5];
  return key === undefined || decodeAddress(key) !== null
    ? "an invite must be iota://HOST:PORT/RUN#KEY"
    : "the key of an invite must be a whole address that matches its checksum, and a letter of this one is wrong or missing";
}

/** Null: it cannot hold this address or name. */
export function inviteText({ socket, run, hub }: Invite): string | null {
  const parts = socketPattern.exec(socket);
  if (parts === null) return null;
  const text = `iota${parts[1] === "wss" ? "s" : ""}://${parts[2]}${parts[3]}/${run}#${hub}`;
  const read = readInvite(text);
  return read === null ? null : `iota${read.socket.slice(2)}/${run}#${hub}`;
}

/** For any POSIX shell, and for zsh, where # may have a special meaning. */
export const quotedInvite = (text: string): string => `'${text}'`; // an invite contains no quote

/** IPv6 without brackets. */
export function hostOfSocket(socket: string): string {
  const place = socketPattern.exec(socket)?.[2] ?? "";
  return place.startsWith("[") ? place.slice(1, place.indexOf("]")) : place.replace(/:\d+$/, "");
}

function socketOf({ protocol, place, path }: { protocol: string; place: string; path: string }): string | null {
  const parts = /^(\[[^\]]{2,45}\]|[^:[\]]{1,253})(?::([1-9]\d{0,4}))?$/.exec(place);
  if (parts === null || !pathPattern.test(path)) return null;
  const host = hostOf(parts[1]!);
  const port = parts[2] === undefined ? usualPorts[protocol]! : Number(parts[2]);
  if (host === null || port > 65_535) return null;
  return `${protocol}://${host}${port === usualPorts[protocol] ? "" : `:${port}`}${path}`;
}

/** URL parsers read 127.1 and 0x7f000001 as addresses, so a name that ends with a number must be a full address. */
function hostOf(text: string): string | null {
  if (text.startsWith("[")) {
    const ip = ipOfText(text.slice(1, -1));
    return ip?.version === 6 ? `[${textOfIp(ip)}]` : null;
  }
  const labels = text.toLowerCase().split(".");
  if (/^\d|^0x/.test(labels.at(-1)!)) {
    const ip = ipOfText(text);
    return ip?.version === 4 && textOfIp(ip) === text ? text : null;
  }
  return labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) ? labels.join(".") : null;
}
