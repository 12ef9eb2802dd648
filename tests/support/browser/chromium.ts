/** A real Chromium for the tests of the page: one for all tests of a file, a fresh context for each. */

import { type BrowserContext, chromium, type Page } from "playwright-core";
import { isFile } from "../is_file.ts";

const variable = "IOTA_CHROMIUM"; // the program elsewhere

const places = [
  ...["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/usr/bin/google-chrome-stable"],
  ...["/Applications/Chromium.app/Contents/MacOS/Chromium"],
  ...["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"],
];

const told = Deno.env.get(variable);
const found = (told === undefined ? places : [told]).find(isFile) ?? null;

/** Why there is none, or null. */
export const noChromium: string | null = found === null
  ? `no Chromium: install chromium, or name its program in ${variable}`
  : null;

const words = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync"],
];

export interface ShownPage {
  readonly page: Page;
  readonly problems: string[]; // errors of the page, refusals by its policy, and requests to anywhere else
}

export interface PageOptions {
  readonly colorScheme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** Runs in the page before its own program. */
  readonly before?: () => void;
}

/** Opens `url` in a browser of its own, which ends with the test. */
export async function withPage(
  url: string,
  { colorScheme = "light", width = 1280, height = 800, before = () => {} }: PageOptions,
  body: (shown: ShownPage) => Promise<void>,
): Promise<void> {
  if (found === null) throw new Error(noChromium ?? "");
  const browser = await chromium.launch({ executablePath: found, args: words });
  try {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width, height },
      reducedMotion: "reduce",
    });
    const problems = watched(context, new URL(url).origin);
    await context.addInitScript(before);
    const page = await context.newPage();
    await page.goto(url);
    await body({ page, problems });
  } finally {
    await browser.close();
  }
}

function watched(context: BrowserContext, origin: string): string[] {
  const problems: string[] = [];
  context.on("weberror", (error) => problems.push(error.error().message));
  context.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  context.on("request", (request) => {
    const { origin: asked, protocol } = new URL(request.url());
    if (asked !== origin && protocol !== "data:" && protocol !== "blob:") problems.push(`asked for ${request.url()}`);
  });
  return problems;
}
