/** Why an orchestrator could not be asked over HTTP, and what to do about it. */

import { ProxyError } from "../../net/proxy/tunnel.ts";

interface ReachProblem {
  readonly text: string;
  readonly fix: string;
  readonly isUntrusted: boolean; // it answers with a certificate that is not trusted here
}

const usualFix = "Check the address, and that the orchestrator is running";
const proxyFix = "Correct that variable, or connect without the proxy by naming the host in NO_PROXY";
const addressFix = "Use the address exactly as the orchestrator prints it";

const problems: readonly { readonly sign: RegExp; readonly text: string; readonly fix?: string }[] = [
  { sign: /blocked/i, text: "that port is blocked for this use" },
  { sign: /refused/i, text: "nothing listens there" },
  {
    sign: /not valid for|NotValidForName/i,
    text: "its certificate does not name that address",
    fix: "Dial a name that the certificate has, or ask the run's owner for a certificate with this one",
  },
  { sign: /dns|lookup|resolve|not known/i, text: "the name does not exist" },
  {
    sign: /InvalidContentType/i,
    text: "it speaks without TLS, so its address begins with ws://",
    fix: addressFix,
  },
  {
    sign: /invalid HTTP|unexpected.*message|parse|connection closed before/i,
    text: "it does not speak plain HTTP; with TLS its address begins with wss://",
    fix: addressFix,
  },
];

export function reachProblem(error: unknown): ReachProblem {
  if (error instanceof ProxyError) return { text: error.message, fix: proxyFix, isUntrusted: false };
  const message = messageOf(error);
  const known = problems.find(({ sign }) => sign.test(message));
  if (known !== undefined) return { text: known.text, fix: known.fix ?? usualFix, isUntrusted: false };
  if (/certificate|tls/i.test(message)) {
    const fix = "Get the certificate (cert.pem) from the run's owner, and add --tls-ca cert.pem to this command";
    return { text: "its certificate is not trusted here", fix, isUntrusted: true };
  }
  return { text: /unreachable/i.test(message) ? "no route to it" : "", fix: usualFix, isUntrusted: false };
}

/** Without the address, which could contain any word. */
function messageOf(error: unknown): string {
  const causes = error instanceof Error ? [error, error.cause] : [];
  return causes.map((each) => each instanceof Error ? each.message : "").join(" ").replace(/\(\w+:[^)]*\)/, "");
}
