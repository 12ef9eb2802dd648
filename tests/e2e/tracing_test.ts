/** Telemetry: a microbatch's trace goes through orchestrator and miners, as any collector of OpenTelemetry receives it. */

import { assert, assertEquals } from "@std/assert";
import { iota } from "../support/process/iota_process.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, string | number>> }[];
}

interface Exported {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
}

/** Takes what processes export. */
function collector(): { readonly url: string; readonly spans: Span[]; close(): Promise<void> } {
  const spans: Span[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { resourceSpans = [] } = await request.json() as Exported;
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    return Response.json({});
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, spans, close: () => server.shutdown() };
}

const textOf = ({ attributes }: Span, key: string) => attributes.find((each) => each.key === key)?.value["stringValue"];

Deno.test("Tracing: a microbatch is one trace from its tokens to its step, over orchestrator and miners", () =>
  withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const { url, spans, close } = collector();
    const env = { OTEL_DENO: "true", OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_ENDPOINT: url };
    const shape = ["--size", "toy", "--stages", "2", "--replicas", "1", "--validators", "0", "--steps", "2"];
    const { code } = await iota(["swarm", ...shape, "--corpus", corpus, "--data", folder, "--json"], env);
    await close();
    assertEquals(code, 0);
    const roots = spans.filter(({ name }) => name === "microbatch");
    assert(roots.length > 0, "the orchestrator's spans arrive");
    for (const root of roots) {
      const ofTrace = spans.filter(({ traceId }) => traceId === root.traceId);
      const children = (parent: Span, name: RegExp) =>
        ofTrace.filter((each) => each.parentSpanId === parent.spanId && name.test(each.name));
      const leases = children(root, /^lease /);
      assertEquals(leases.map(({ name }) => name), ["lease forward", "lease turnaround", "lease backward"]);
      for (const lease of leases) {
        const [compute, ...more] = children(lease, /^compute /);
        assertEquals(more.length, 0);
        assertEquals(compute?.name, lease.name.replace("lease", "compute"));
        for (const key of ["iota.task", "iota.node"]) assertEquals(textOf(compute!, key), textOf(lease, key));
      }
    }
  }));
