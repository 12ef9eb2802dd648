/** A certificate that signs itself, made by openssl as the help of orchestrate shows. */

export interface OwnCertificate {
  readonly certificate: string; // paths
  readonly key: string;
}

/** Why it is unavailable here, or null. */
export function noOpenssl(): string | null {
  try {
    return new Deno.Command("openssl", { args: ["version"] }).outputSync().success ? null : "openssl does not run";
  } catch {
    return "there is no program openssl";
  }
}

/** `names`: as openssl writes them, such as IP:127.0.0.1. */
export async function makeCertificate(
  folder: string,
  { names, isAuthority = false }: { names: readonly string[]; isAuthority?: boolean },
): Promise<OwnCertificate> {
  const [certificate, key] = ["cert", "key"].map((name) => `${folder}/${name}-${crypto.randomUUID().slice(0, 8)}.pem`);
  const { success, stderr } = await new Deno.Command("openssl", {
    args: [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"],
      ...["-subj", "/CN=iota", "-addext", `basicConstraints=critical,CA:${isAuthority ? "TRUE" : "FALSE"}`],
      ...["-addext", `subjectAltName=${names.join(",")}`, "-keyout", key!, "-out", certificate!],
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return { certificate: certificate!, key: key! };
}
