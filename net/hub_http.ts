/** The HTTP side of the orchestrator's port: `/healthz`, blobs, and pages about the run such as `/status`. */

import { Hono } from "hono";
import { blobRoutes, type BlobRoutesOptions } from "./blobs/blob_routes.ts";

/** Anybody may request it. `origin` is the requesting address's (`originOf`). */
export type HubPage = (request: Request, origin: string) => Response | Promise<Response>;

interface ApiOptions {
  readonly blobs: BlobRoutesOptions;
  readonly pages: Readonly<Record<string, HubPage>>;
  /** By path: "/api/v1/admin". Each page reads the body and checks the sender. */
  readonly posts?: Readonly<Record<string, HubPage>>;
  readonly onError: (error: Error) => void;
}

const unknownOrigin = "unknown";

export function createApi(options: ApiOptions): Hono<{ Bindings: { readonly origin?: string } }> {
  const app = new Hono<{ Bindings: { readonly origin?: string } }>();
  app.get("/healthz", (context) => context.text("ok"));
  for (const [path, page] of Object.entries(options.pages)) {
    app.get(path, (context) => page(context.req.raw, context.env?.origin ?? unknownOrigin));
  }
  for (const [path, page] of Object.entries(options.posts ?? {})) {
    app.post(path, (context) => page(context.req.raw, context.env?.origin ?? unknownOrigin));
  }
  app.route("/", blobRoutes(options.blobs));
  app.notFound((context) =>
    context.json({ code: "missing", detail: `There is no page ${context.req.path.slice(0, 200)}; try /status` }, 404)
  );
  app.onError((error, context) => {
    options.onError(error);
    return context.json({
      code: "storage",
      detail: "The request failed here; see the orchestrator's log",
    }, 500);
  });
  return app;
}
