/**
 * A reverse proxy on loopback that passes everything on but answers 413 to requests with a body, as one whose limit is too small
 * for a payload does.
 */

const refusal = "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const isUpload = (chunk: Uint8Array): boolean => /^(PUT|PATCH) /.test(new TextDecoder().decode(chunk.subarray(0, 6)));

export class RefusingProxy implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #backendPort: number;
  readonly #open = new Set<Deno.Conn>();
  readonly #serving: Promise<void>;
  isRefusing = true;
  refused = 0;

  constructor(backendPort: number) {
    this.#backendPort = backendPort;
    this.#serving = this.#serve();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) this.#close(connection);
    await this.#serving;
  }

  async #serve(): Promise<void> {
    const connections: Promise<void>[] = [];
    for await (const client of this.#listener) connections.push(this.#pass(client));
    await Promise.all(connections);
  }

  async #pass(client: Deno.TcpConn): Promise<void> {
    this.#open.add(client);
    let backend: Deno.TcpConn;
    try {
      backend = await Deno.connect({ hostname: "127.0.0.1", port: this.#backendPort });
    } catch {
      return this.#close(client); // the orchestrator is not up
    }
    this.#open.add(backend);
    const answers = pipe(backend, client);
    await pipe(client, backend, (chunk) => this.#mayPass(client, chunk));
    this.#close(backend);
    this.#close(client);
    await answers;
  }

  /** A request begins with its own chunk, as clients write one head at a time. */
  async #mayPass(client: Deno.TcpConn, chunk: Uint8Array): Promise<boolean> {
    if (!this.isRefusing || !isUpload(chunk)) return true;
    this.refused += 1;
    await client.write(new TextEncoder().encode(refusal));
    return false;
  }

  #close(connection: Deno.Conn): void {
    if (!this.#open.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // The other side was first.
    }
  }
}

async function pipe(
  from: Deno.TcpConn,
  to: Deno.TcpConn,
  mayPass: (chunk: Uint8Array) => Promise<boolean> = () => Promise.resolve(true),
): Promise<void> {
  const buffer = new Uint8Array(65_536);
  try {
    for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
      const chunk = buffer.slice(0, count);
      if (!await mayPass(chunk)) return;
      for (let at = 0; at < chunk.length;) at += await to.write(chunk.subarray(at));
    }
  } catch {
    // A closed connection ends both directions.
  }
}
