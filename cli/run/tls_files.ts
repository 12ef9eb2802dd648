/**
 * The files of TLS: an orchestrator's certificate and key, and the authority that a node trusts beside the system's.
 *
 * Owns: reading them and saying what is wrong, because a server with a bad pair listens all the same and refuses every node. Out of
 * scope: who the hub is, which its hotkey proves in the hello; TLS keeps what is sent from being read on the way.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { attempting, UsageError, UserError } from "../errors.ts";

export interface TlsPair {
  readonly certificate: string; // PEM, the chain
  readonly key: string; // PEM
}

/** Null: neither is given, and the port speaks plain HTTP. */
export async function readTlsPair(
  { certificate, key }: { certificate: string | undefined; key: string | undefined },
): Promise<TlsPair | null> {
  if (certificate === undefined && key === undefined) return null;
  if (certificate === undefined || key === undefined) {
    const [given, missing] = certificate === undefined ? ["--tls-key", "--tls-cert"] : ["--tls-cert", "--tls-key"];
    throw new UsageError(`Cannot use ${given} as ${missing} must be given with it: it is missing`, {
      next: "Pass both files: --tls-cert cert.pem --tls-key key.pem",
    });
  }
  const pair = {
    certificate: await readPem("--tls-cert", certificate),
    key: await readPem("--tls-key", key),
  };
  const parsed = parseCertificate("--tls-cert", { path: certificate, text: pair.certificate });
  checkDates(parsed, certificate);
  if (!parsed.checkPrivateKey(parseKey({ path: key, text: pair.key }))) {
    const rule = `be the key of the certificate in '${certificate}'`;
    throw wrongFile("--tls-key", { path: key, rule, found: "it is another one" });
  }
  if (isOwnAuthority(parsed)) {
    throw wrongFile("--tls-cert", {
      path: certificate,
      rule: "not be an authority (CA:TRUE) while it is self-signed, as nodes refuse that",
      found: "it is one",
    });
  }
  return pair;
}

/** What --tls-ca names, in PEM. */
export async function readTlsAuthority(path: string): Promise<string> {
  const text = await readPem("--tls-ca", path);
  parseCertificate("--tls-ca", { path, text });
  return text;
}

const maxBytes = 2 ** 20;

async function readPem(option: string, path: string): Promise<string> {
  const text = await attempting({ action: `use ${option}`, value: path }, async () => {
    const { size, isFile } = await Deno.stat(path);
    if (isFile && size <= maxBytes) return await Deno.readTextFile(path);
    const found = isFile ? `it has ${size} bytes` : "it is a folder";
    throw wrongFile(option, { path, rule: "be a PEM file of at most 1 MiB", found });
  });
  if (text.includes("-----BEGIN ")) return text;
  throw wrongFile(option, { path, rule: "be in PEM, with a line -----BEGIN …-----", found: "it has none" });
}

function parseCertificate(option: string, { path, text }: { path: string; text: string }): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw wrongFile(option, { path, rule: "hold a certificate", found: "none in it can be read" });
  }
}

function checkDates({ validFrom, validTo }: X509Certificate, path: string): void {
  const nowMs = Date.now();
  if (Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo)) return;
  throw wrongFile("--tls-cert", { path, rule: "be valid today", found: `it is valid from ${validFrom} to ${validTo}` });
}

function parseKey({ path, text }: { path: string; text: string }): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    const rule = "hold a private key without a password";
    throw wrongFile("--tls-key", { path, rule, found: "none in it can be read" });
  }
}

export interface ServedCertificate {
  readonly signsItself: boolean; // nodes then need it in --tls-ca
  /** Whether nodes that dial this URL accept it. */
  names(url: string): boolean;
}

export function servedCertificate({ certificate }: TlsPair): ServedCertificate {
  const parsed = new X509Certificate(certificate);
  return {
    signsItself: parsed.issuer === parsed.subject,
    names(url) {
      const host = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
      const isIp = host.includes(":") || /^\d+(\.\d+){3}$/.test(host);
      return (isIp ? parsed.checkIP(host) : parsed.checkHost(host)) !== undefined;
    },
  };
}

const isOwnAuthority = ({ ca, issuer, subject }: X509Certificate) => ca && issuer === subject;

function wrongFile(option: string, { path, rule, found }: { path: string; rule: string; found: string }): UserError {
  return new UserError(`Cannot use ${option} '${path}' as it must ${rule}: ${found}`, {
    next: option === "--tls-ca"
      ? "Copy the orchestrator's certificate, or its authority's, to this machine"
      : "Make a pair of files as its help shows: iota help orchestrate",
  });
}
