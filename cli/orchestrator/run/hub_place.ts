/**
 * Where an orchestrator listens and how others reach it, from its options. --loopback overrides all settings of
 * addresses and TLS: a swarm's nodes are on this machine.
 */

import { basename } from "node:path";
import type { OptionValues } from "../../terminal/command.ts";
import { isAnyAddress, isLoopbackHost, mustBeHost, otherUrls, publicUrl } from "../../address/public_address.ts";
import { type WantedPlace, wantedPlace } from "../hub/hub_port.ts";
import type { SavedRun } from "../../files/saved_run.ts";
import { type NamedPath, readTlsPair, type TlsPair } from "../../files/tls_files.ts";

export interface HubPlace extends WantedPlace {
  readonly tls: TlsPair | null;
  readonly certificateFile: string | null; // the file's name without folders
  urlAt(port: number): string;
  /** For nodes that cannot reach that one. */
  othersAt(port: number): string[];
  readonly isLoopback: boolean;
  readonly isLoopbackAsked: boolean;
  readonly isPublicGiven: boolean; // --public-address: nodes dial another address than the port's own
  /** That the nodes of a resumed run know, if they will not find this orchestrator there. */
  formerUrl(port: number): string | null;
}

/** `saved`: the run's former address, at which its nodes look for it. */
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
  urlAt(wanted.ports[0]); // a wrong --public-address ends the command before anything is opened
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

/** Values from the file were already checked (hub_file_check.ts). */
function pathOf(options: OptionValues, name: string): NamedPath | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : { name: `--${name}`, text };
}

/** `[::1]` as `::1`, because people copy it from a URL. */
const unbracketed = (host: string) => host.replace(/^\[(.*)\]$/, "$1");
