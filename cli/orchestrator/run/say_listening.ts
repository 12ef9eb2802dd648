/** What an orchestrator prints once its port is open. */

import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import type { NamedChain } from "../../terminal/options/named_chain.ts";
import { type Invite, inviteText } from "../../address/invite.ts";
import { joinCommand } from "../../address/join_command.ts";
import type { Output } from "../../terminal/output/output.ts";
import { plural } from "../../terminal/text/format.ts";
import { shellWords } from "../../program/shell_words.ts";
import type { HubPlace } from "./hub_place.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { isLoopbackHost, type ServedAt } from "../../address/public_address.ts";
import type { SavedRun } from "../../files/saved_run.ts";
import { servedCertificate } from "../../files/tls_files.ts";

interface OpenPort {
  readonly place: Omit<HubPlace, "host" | "ports" | "urlAt">;
  readonly at: ServedAt;
  readonly saved: Pick<SavedRun, "host" | "port"> | null;
  readonly invite: Invite;
  readonly chain: NamedChain; // nodes find a new address there, unless the network is "none"
  readonly miners: number; // that the run waits for
}

export function sayWhere(
  output: Output,
  { prepared: { config, saved, runId: run, key }, place, at, miners }: {
    prepared: PreparedRun;
    place: HubPlace;
    at: ServedAt;
    miners: number;
  },
): Invite {
  const invite = { socket: place.urlAt(at.port), hub: key.signer.address, run };
  sayListening(output, { place, at, saved, invite, chain: config.chain, miners });
  return invite;
}

export function sayListening(output: Output, port: OpenPort): void {
  const { place, at, invite, chain, miners } = port;
  const { socket: url, run, hub } = invite;
  const certificate = place.tls === null || !url.startsWith("wss:") ? null : servedCertificate(place.tls);
  const authorityFile = certificate?.signsItself === true ? place.certificateFile : null;
  const listensAt = `${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}`;
  output.event({
    type: "listening",
    url,
    listensAt,
    run,
    hub,
    invite: inviteText(invite),
    dashboard: dashboardAt(url),
  });
  const forMiners = `for ${plural(miners, "miner")}`;
  output.line(
    place.isPublicGiven
      ? `Listening on ${listensAt} ${forMiners}; other machines reach it at ${url}`
      : `Listening on ${url} ${forMiners}`,
  );
  output.line(`Dashboard: ${dashboardAt(url)}`);
  sayMoved(output, port);
  output.line(`Join with: ${joinCommand(invite, { authorityFile, chain })}`);
  output.line(`Validate with: ${joinCommand(invite, { role: "validate", authorityFile, chain })}`);
  sayUnreachableChain(output, port);
  const others = othersOf(place, url).filter((socket) => certificate?.names(socket) ?? true);
  if (others.length > 0) {
    output.line(`Also at: ${others.map((socket) => inviteText({ ...invite, socket }) ?? socket).join(" ")}`);
  }
  if (place.isLoopbackAsked) {
    output.line(
      "Only this machine can join; to let others in, start it without --loopback, and without loopback in [hub]",
    );
  } else if (place.isLoopback) {
    output.line("Only this machine can join; to let others in, start it with --host 0.0.0.0");
  }
  if (certificate === null) return;
  if (authorityFile !== null) {
    output.line(
      `The certificate is self-signed: copy ${authorityFile} to each machine that joins, and join from the folder that holds it`,
    );
  }
  if (!certificate.names(url)) {
    output.log.warn(
      `Nodes will refuse the certificate, which does not name ${new URL(url).hostname}: create one that does ` +
        "(iota help orchestrate), or pass an address in it with --public-address",
    );
  }
}

/** `ws://host:port` gives `http://host:port/`. */
export const dashboardAt = (socket: string): string => `${socket.replace(/^ws/, "http").replace(/\/$/, "")}/`;

/** It is useless to a run that others may join. */
function sayUnreachableChain(output: Output, { chain: { network }, invite }: OpenPort): void {
  const isOfThisMachine = (url: string) => isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ""));
  if (network === "none" || isOfThisMachine(invite.socket)) return;
  const { urls } = parseEndpoints(network);
  if (!urls.every(isOfThisMachine)) return;
  output.log.warn(
    `Other machines cannot reach the chain at ${urls.join(", ")}, so their nodes cannot be registered: ` +
      "start it with --host 0.0.0.0, and name this machine's address in [chain] network",
  );
}

function sayMoved(output: Output, { place, at, saved, invite: { socket: url }, chain }: OpenPort): void {
  const former = place.formerUrl(at.port);
  if (former === null || saved === null) return;
  const look = `look for this run at ${former}, not at ${url}`;
  if (chain.network !== "none") {
    const others = "those that found it on the chain follow the new announcement";
    return output.line(`Nodes that joined by address ${look}: restart them with the line below; ${others}`);
  }
  const isSameAddress = new URL(former).host === new URL(url).host; // then only TLS has changed
  const back = shellWords(["--host", String(saved.host), "--port", String(saved.port)]);
  output.log.warn(
    `Nodes that joined before ${look}: ${
      isSameAddress
        ? "restart them with the line below"
        : `to return to that address, stop it and start it with ${back}`
    }`,
  );
}

/** A URL without a port has its scheme's default. */
function othersOf(place: Pick<HubPlace, "othersAt">, url: string): string[] {
  const { port, protocol } = new URL(url);
  return place.othersAt(port === "" ? (protocol === "wss:" ? 443 : 80) : Number(port));
}
