/**
 * The orchestrator's port, taken before anything is written. Until the role is ready, callers are asked to retry, with
 * the reason.
 */

import { fault } from "../../../core/fault.ts";
import { encodeFrame } from "../../../net/messages/frame.ts";
import { createRefusal } from "../../../net/auth/hello.ts";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { listen, type Listener, ListenError, type ListenOptions } from "../../../net/server.ts";
import type { Wire, WireHandler } from "../../../net/links/wire.ts";
import type { OptionValues } from "../../terminal/command.ts";
import { UserError } from "../../program/errors.ts";
import type { ServedAt } from "../../address/public_address.ts";
import type { SavedRun } from "../../files/saved_run.ts";
import type { TlsPair } from "../../files/tls_files.ts";

type Service = Pick<ListenOptions, "accept" | "fetch">;

export interface HubPort {
  readonly url: string;
  readonly at: ServedAt;
  serve(service: Service): void;
  close(): Promise<void>;
}

/** Ports are tried in order. */
export interface WantedPlace {
  readonly host: string;
  readonly ports: readonly [number, ...number[]];
}

interface HubPortOptions {
  readonly wanted: WantedPlace & { readonly tls?: TlsPair | null };
  readonly limits: NetLimits;
  readonly descriptors: number | null;
  readonly onNotice: (text: string) => void;
}

/** The typed address, else the run's last, else the default. Port 0: any free port, if possible the run's. */
export function wantedPlace(options: OptionValues, saved: SavedRun | null): WantedPlace {
  const host = options.given("host") ? options.text("host") : saved?.host ?? options.text("host");
  const port = options.given("port") ? options.number("port") : saved?.port ?? options.number("port");
  const ports = port === 0 && saved !== null && saved.port !== null
    ? [saved.port, 0] as const
    : [port ?? 9009] as const;
  return { host: host ?? "127.0.0.1", ports };
}

export async function openHubPort(
  { wanted: { host, ports, tls = null }, ...options }: HubPortOptions,
): Promise<HubPort> {
  let service: Service = notYet;
  const open = (port: number) =>
    listen({
      ...{ ...options, host, port, ...(tls === null ? {} : { tls }) },
      accept: (wire) => service.accept(wire),
      fetch: (request, trust, origin) => service.fetch(request, trust, origin),
    });
  const listener = await firstThat(ports, open);
  const { url, port } = listener;
  let closed: Promise<void> | null = null;
  return { url, at: { host, port }, serve: (role) => service = role, close: () => closed ??= listener.close() };
}

async function firstThat(
  [port, ...others]: readonly number[],
  open: (port: number) => Promise<Listener>,
): Promise<Listener> {
  try {
    return await open(port!);
  } catch (error) {
    if (others.length > 0) return await firstThat(others, open);
    const message = error instanceof Error ? error.message : String(error);
    throw new UserError(message, { ...(error instanceof ListenError ? { next: error.next } : {}), cause: error });
  }
}

export async function tryPort(port: number): Promise<void> {
  if (port === 0) return;
  const wanted: WantedPlace = { host: "127.0.0.1", ports: [port] };
  const opened = await openHubPort({ wanted, limits: defaultNetLimits, descriptors: null, onNotice: () => {} });
  await opened.close();
}

const starting = "The orchestrator is still starting; try again";

const notYet: Service = {
  accept(wire: Wire): WireHandler {
    wire.send(encodeFrame({ header: createRefusal(fault("wrongPhase", starting)) }));
    wire.close(starting);
    return { frame: () => {}, closed: () => {} };
  },
  fetch: () => new Response(`${starting}\n`, { status: 503, headers: { "retry-after": "1" } }),
};
