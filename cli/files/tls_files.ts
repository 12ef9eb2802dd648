/**
 * The files of TLS: an orchestrator's certificate and key, and the authority that a node trusts beside the system's. A
 * server with a bad pair still listens but refuses every node, so problems are reported.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import { attempting, UsageError, UserError } from "../program/errors.ts";

export interface TlsPair {
  readonly certificate: string; // PEM, the chain
  readonly key: string;
}

export interface NamedPath {
  readonly name: string;
  readonly text: string;
}

export async function readTlsPair(
  { certificate, key }: { certificate: NamedPath | undefined; key: NamedPath | undefined },
): Promise<TlsPair | null> {
  const given = certificate ?? key;
  if (given === undefined) return null;
  if (certificate === undefined || key === undefined) throw halfPair(given.name);
  const pair = { certificate: await readPem(certificate), key: await readPem(key) };
  const parsed = parseCertificate(certificate, pair.certificate);
  checkDates(parsed, certificate);
  if (!parsed.checkPrivateKey(parseKey(key, pair.key))) {
    const rule = `be the key of the certificate in '${resolve(certificate.text)}'`;
    throw wrongFile(key, { rule, found: "it is another one" });
  }
  if (isOwnAuthority(parsed)) {
    throw wrongFile(certificate, {
      rule: "not be an authority (CA:TRUE) while it is self-signed, as nodes refuse that",
      found: "it is one",
    });
  }
  return pair;
}

function halfPair(given: string): UserError {
  const names = given.startsWith("--") ? ["--tls-cert", "--tls-key"] : ["hub.tlsCert", "hub.tlsKey"];
  const missing = names.find((name) => name !== given);
  return new UsageError(`Cannot use ${given} without ${missing}`, {
    next: given.startsWith("--")
      ? "Pass both files: --tls-cert cert.pem --tls-key key.pem"
      : "Set both files in [hub], tlsCert and tlsKey",
  });
}

export async function readTlsAuthority(given: NamedPath): Promise<string> {
  const text = await readPem(given);
  parseCertificate(given, text);
  return text;
}

const maxBytes = 2 ** 20;

async function readPem(given: NamedPath): Promise<string> {
  const path = resolve(given.text);
  const text = await attempting({ action: `use ${given.name}`, value: path }, async () => {
    const { size, isFile } = await Deno.stat(path);
    if (isFile && size <= maxBytes) return await Deno.readTextFile(path);
    const found = isFile ? `it has ${size} bytes` : "it is a folder";
    throw wrongFile(given, { rule: "be a PEM file of at most 1 MiB", found });
  });
  if (text.includes("-----BEGIN ")) return text;
  throw wrongFile(given, { rule: "be in PEM, with a line -----BEGIN …-----", found: "it has none" });
}

function parseCertificate(given: NamedPath, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw wrongFile(given, { rule: "hold a certificate", found: "none in it can be read" });
  }
}

function checkDates({ validFrom, validTo }: X509Certificate, given: NamedPath): void {
  const nowMs = Date.now();
  if (Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo)) return;
  throw wrongFile(given, { rule: "be valid today", found: `it is valid from ${validFrom} to ${validTo}` });
}

function parseKey(given: NamedPath, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw wrongFile(given, { rule: "hold a private key without a password", found: "none in it can be read" });
  }
}

interface ServedCertificate {
  readonly signsItself: boolean; // nodes then need it in --tls-ca
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

function wrongFile(
  { name, text }: NamedPath,
  { rule, found }: { rule: string; found: string },
): UserError {
  return new UserError(`Cannot use ${name} '${resolve(text)}': it must ${rule}, but ${found}`, {
    next: name.endsWith("tls-ca")
      ? "Copy the orchestrator's certificate, or its authority's, to this machine"
      : "Make a pair of files as its help shows: iota help orchestrate",
  });
}
