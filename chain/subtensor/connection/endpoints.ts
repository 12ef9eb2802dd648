/** Endpoints, in the order in which they are tried. Public ones serve about one request per second and address. */

import { ChainError } from "../../chain.ts";

export interface Endpoints {
  readonly urls: readonly string[];
  /** Nodes that keep every block's state. */
  readonly archiveUrls: readonly string[];
  readonly isPublic: boolean; // endpoints' claims are checked
}

const archive = ["wss://archive.chain.opentensor.ai:443", "wss://archive.sub.latent.to:443"];

const endpointPresets: Readonly<Record<string, Endpoints>> = {
  finney: {
    urls: [
      "wss://entrypoint-finney.opentensor.ai:443",
      "wss://lite.chain.opentensor.ai:443",
      "wss://lite.sub.latent.to:443",
    ],
    archiveUrls: archive,
    isPublic: true,
  },
  archive: { urls: archive, archiveUrls: archive, isPublic: true },
  test: { urls: ["wss://test.finney.opentensor.ai:443"], archiveUrls: [], isPublic: true },
  local: { urls: ["ws://127.0.0.1:9944"], archiveUrls: [], isPublic: false },
};

/** Preset names or ws(s):// addresses, separated by commas. */
export function parseEndpoints(text: string): Endpoints {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "").map(endpointsOf);
  const known = parts.filter((part) => part !== null);
  if (known.length === 0 || known.length < parts.length) {
    const names = Object.keys(endpointPresets).join(", ");
    throw new ChainError(
      "unreachable",
      `Cannot use the chain endpoint '${text}': it must be one of ${names}, or a ws:// or wss:// address`,
    );
  }
  return {
    urls: [...new Set(known.flatMap(({ urls }) => urls))],
    archiveUrls: [...new Set(known.flatMap(({ archiveUrls }) => archiveUrls))],
    isPublic: known.some(({ isPublic }) => isPublic),
  };
}

function endpointsOf(part: string): Endpoints | null {
  const preset = Object.hasOwn(endpointPresets, part) ? endpointPresets[part] : undefined;
  return preset ?? (isSocketAddress(part) ? { urls: [part], archiveUrls: [], isPublic: false } : null);
}

function isSocketAddress(text: string): boolean {
  return URL.canParse(text) && ["ws:", "wss:"].includes(new URL(text).protocol);
}
