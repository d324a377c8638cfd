/** A browser that shows the console, and what it says of its pages. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { announceSkip, eventually } from '../harness.js';

const programs = ['chromium', 'chromium-browser', 'google-chrome'];
const program = programs.find((name) => spawnSync(name, ['--version']).status === 0);

/** Says why the tests with a browser don't run; in CI that is a failure. */
export function needsBrowser(what: string): boolean {
  if (program !== undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: chromium is not installed`);
  announceSkip(what, 'chromium is not installed');
  return false;
}

/** Longest wait for something to appear, ms: the machine may be busy. */
const waitMs = 20_000;
const schemes = ['light', 'dark'] as const;
/** Widths at which pictures are taken, with their heights. */
const sizes = [
  [360, 740],
  [1280, 800],
  [3840, 2160],
] as const;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export class ConsoleBrowser {
  /** What pages wrote to their log as errors, and the requests that they sent to other hosts. */
  readonly faults: string[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly base: string,
  ) {}

  static async open(base: string): Promise<ConsoleBrowser> {
    // The sandbox of the browser does not work for root.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const executablePath = spawnSync('which', [program!]).stdout.toString().trim();
    return new ConsoleBrowser(await chromium.launch({ executablePath, args: [...args, '--disable-gpu'] }), base);
  }

  /** Opens a page of the console, as `rules/fleet`. */
  page(path = '', options: BrowserContextOptions = {}): Promise<Page> {
    return this.at(`${this.base}/console/#/${path}`, options);
  }

  /** Opens a page by its address. */
  async at(address: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({
      locale: 'en-GB',
      viewport: { width: 1280, height: 800 },
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(waitMs);
    page.on('pageerror', ({ message }) => this.faults.push(message));
    page.on('console', (entry) => {
      // A server that is away or refuses is told by the browser as well.
      const isRefusal = /Failed to load resource/.test(entry.text());
      if (entry.type() === 'error' && !isRefusal) this.faults.push(entry.text());
    });
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(this.base)) this.faults.push(request.url());
    });
    await page.goto(address);
    return page;
  }

  async close(): Promise<void> {
    await this.browser.close();
  }
}

/** Waits until a field or an editor has the text: what is done with it is drawn a moment later. */
export async function hasText(field: Locator, text: string): Promise<void> {
  let last = '';
  const look = async () => {
    last = await field.evaluate((one) => ('value' in one ? String(one.value) : one.innerText));
    return last === text;
  };
  // The last look says what is there instead.
  await eventually(`the text ${text}`, look, waitMs).catch(() => assert.is(last, text));
}

/**
 * Writes a text in the place of that of an editor for statements, by keys. `fill` chooses the old text behind the back
 * of the editor, which sets its own cursor again 10 ms after it has got the focus: the new text was added to the old.
 */
export async function write(editor: Locator, text: string): Promise<void> {
  await editor.press('Control+A');
  await editor.page().keyboard.insertText(text);
}

/** Waits until an expression of a page is true. The page itself may not evaluate texts, so each look is one of ours. */
export async function holds(page: Page, what: string, expression: string): Promise<void> {
  await eventually(what, () => page.evaluate<boolean>(expression), waitMs);
}

/**
 * Fails when a page has a serious fault for people who do not see it, in light or dark, or is wider than its window.
 * With HAUMEA_SCREENSHOTS=<folder> pictures of it are kept.
 */
export async function checkLook(page: Page, name: string): Promise<void> {
  const folder = process.env.HAUMEA_SCREENSHOTS;
  const before = page.viewportSize()!;
  // Scripts of the page are its own alone; the tool for the check runs beside them.
  await page.evaluate(`${axe}; undefined`);
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    const found = (await page.evaluate('axe.run()')) as {
      violations: { impact: string; id: string; nodes: { html: string }[] }[];
    };
    const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    assert.equal(
      serious.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
      [],
      `${name}, ${colorScheme}`,
    );
  }
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    // Drawings take the width of the window in one of the next frames.
    const fits =
      "[...document.querySelectorAll('html, .content')].every((one) => one.scrollWidth <= one.clientWidth + 1)";
    await holds(page, `${name} fits into ${width} px`, fits);
    if (folder !== undefined) await takePictures(page, join(folder, `${name}-${width}`));
  }
  await page.setViewportSize(before);
}

/** Pictures in both languages, light and dark; pages of the guide have one language. */
async function takePictures(page: Page, path: string): Promise<void> {
  const speak = (language: string) =>
    page.evaluate(
      `{ const list = document.querySelector('.settings select');
      if (list) { list.value = '${language}'; list.dispatchEvent(new Event('change', { bubbles: true })); } }`,
    );
  for (const language of ['zh', 'en']) {
    await speak(language);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${path}-${language}-${colorScheme}.png` });
    }
  }
}
