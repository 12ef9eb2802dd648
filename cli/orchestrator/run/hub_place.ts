/**
 * Where an orchestrator listens and is reached. --loopback overrides all settings of addresses and TLS: a swarm's nodes
 * are on this machine.
 */

import { basename } from "node:path";
import type { OptionValues } from "../../terminal/command.ts";
import { isAnyAddress, isLoopbackHost, mustBeHost, otherUrls, publicUrl } from "../../address/public_address.ts";
import { type WantedPlace, wantedPlace } from "../hub/hub_port.ts";
import type { SavedRun } from "../../files/saved_run.ts";
import { type NamedPath, readTlsPair, type TlsPair } from "../../files/tls_files.ts";

export interface HubPlace extends WantedPlace {
  readonly tls: TlsPair | null;
  readonly certificateFile: string | null; // name without folders
  urlAt(port: number): string;
  /** For nodes that cannot reach that one. */
  othersAt(port: number): string[];
  readonly isLoopback: boolean;
  readonly isLoopbackAsked: boolean;
  readonly isPublicGiven: boolean; // by --public-address
  /** Where a resumed run's nodes look for it; null: still valid. */
  formerUrl(port: number): string | null;
}

export async function hubPlace(options: OptionValues, saved: SavedRun | null): Promise<HubPlace> {
  const isLoopback = options.flag("loopback");
  const wanted = wantedPlace(options, saved);
  mustBeHost(wanted.host);
  const host = isLoopback ? "127.0.0.1" : unbracketed(wanted.host);
  const tls = isLoopback ? null : await readTlsPair({
    certificate: pathOf(options, "tls-cert"),
    key: pathOf(options, "tls-key"),
  });
  const publicAddress = isLoopback ? null : options.text("public-address") ?? null;
  const isTls = tls !== null;
  const boundAt = (port: number) => ({ host, port, isTls, publicAddress, interfaces: Deno.networkInterfaces() });
  const urlAt = (port: number) => publicUrl(boundAt(port));
  const formerUrl = (port: number) => {
    if (isLoopback || saved === null || saved.host === null || saved.port === null) return null;
    const wasTls = saved.options["tls-cert"] !== undefined;
    if (port === saved.port && isAnyAddress(host) && wasTls === isTls) return null; // still at every former address
    const former = publicUrl({ ...boundAt(saved.port), host: unbracketed(saved.host), isTls: wasTls });
    return former === urlAt(port) ? null : former;
  };
  urlAt(wanted.ports[0]); // fails on a wrong --public-address before anything opens
  return {
    host,
    ports: wanted.ports,
    tls,
    certificateFile: tls === null ? null : basename(options.text("tls-cert") ?? ""),
    urlAt,
    othersAt: (port) => otherUrls(boundAt(port)),
    isLoopback: publicAddress === null && isLoopbackHost(host),
    isLoopbackAsked: isLoopback,
    isPublicGiven: publicAddress !== null,
    formerUrl,
  };
}

/** hub_file_check.ts has checked the file's values. */
function pathOf(options: OptionValues, name: string): NamedPath | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : { name: `--${name}`, text };
}

/** `[::1]` as `::1`, because people copy it from a URL. */
const unbracketed = (host: string) => host.replace(/^\[(.*)\]$/, "$1");
