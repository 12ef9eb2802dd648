/**
 * What an orchestrator says once its port is open: the line with which others join, and what may keep them from it.
 */

import { type Invite, inviteText } from "../find/invite.ts";
import { joinCommand } from "../find/join_command.ts";
import type { Output } from "../output.ts";
import { plural } from "../screen/format.ts";
import type { HubPlace } from "./hub_place.ts";
import { servedCertificate } from "./tls_files.ts";

export interface OpenPort {
  readonly place: HubPlace;
  readonly invite: Invite;
  readonly miners: number; // that the run waits for
}

export function sayListening(output: Output, { place, invite, miners }: OpenPort): void {
  const { socket: url, run, hub } = invite;
  output.event({ type: "listening", url, run, hub, invite: inviteText(invite) });
  output.line(`Listening on ${url} for ${plural(miners, "miner")}`);
  output.line(`Join with: ${joinCommand(invite)}`);
  if (place.isLoopback) output.line("Only this machine can join; to let others in, start it with --host 0.0.0.0");
  if (place.tls === null || !url.startsWith("wss:")) return;
  const certificate = servedCertificate(place.tls);
  if (certificate.signsItself) {
    output.line("The certificate is self-signed: copy it to each machine that joins, and add --tls-ca cert.pem there");
  }
  if (!certificate.names(url)) {
    output.log.warn(
      `Nodes will refuse the certificate as it must name ${new URL(url).hostname}: make one that does ` +
        "(iota help orchestrate), or pass an address that it names with --public-address",
    );
  }
}
