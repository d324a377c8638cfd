/** The console in a browser for who uses keys alone: what is reached, what has the focus, what is read out. */
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, holds, needsBrowser } from '../support/console/browser.js';
import { eventually, startServer } from '../support/harness.js';

const stream = 'CREATE STREAM demo (temperature FLOAT, humidity BIGINT) WITH (TYPE="simulator", FORMAT="json")';

const module = fileURLToPath(new URL('../guests/numbers.wasm', import.meta.url));

/** What has the focus, also within the editor: its name, whether that is seen, and where it is, all in one look. */
const focused = `(() => {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  const label = found?.labels?.[0]?.firstChild?.textContent;
  const name = found?.getAttribute('aria-label') || label || found?.innerText || '';
  return { name: name.trim().replace(/\\s+/g, ' '), isSeen: found.matches(':focus-visible'),
    isIn: !!found.closest('dialog'), isWithBrowser: found === document.body && !document.hasFocus() };
})()`;

interface Focused {
  readonly name: string;
  readonly isSeen: boolean;
  readonly isIn: boolean;
  /** The browser itself has the focus, and the page has none. */
  readonly isWithBrowser: boolean;
}

const focusedIn = (page: Page) => page.evaluate(focused) as Promise<Focused>;

/** Waits until what has the name has the focus. */
async function hasFocus(page: Page, name: string): Promise<void> {
  let last = '';
  const look = async () => {
    last = (await focusedIn(page)).name;
    return last === name;
  };
  // The last look says what has it instead.
  await eventually(`the focus on ${name}`, look, 20_000).catch(() => assert.is(last, name));
}

/** Goes on by Tab until what has the focus has the name. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const seen: string[] = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Tab');
    const found = await focusedIn(page);
    seen.push(found.name);
    const isIt = typeof name === 'string' ? found.name === name : name.test(found.name);
    if (!isIt) continue;
    assert.ok(found.isSeen, `${name} has the focus, and nobody sees it`);
    return;
  }
  assert.unreachable(`${name} is not reached by Tab: ${seen.join(' > ')}`);
}

if (needsBrowser('the console by keys')) {
  test('a statement is mended and run, becomes a rule, is stopped, and another rule is drawn', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('playground');
    await page.getByRole('textbox', { name: 'Statement', exact: true }).waitFor();
    const write = async (text: string) => {
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text);
    };
    await tabTo(page, 'Statement');
    await write('SELECT temperature + 1 AS t FORM demo');
    const fault = page.getByRole('status', { name: 'What is wrong with the statement' });
    await fault.getByText('FORM').waitFor();
    await write('SELECT temperature + 1 AS t FROM demo');
    await fault.getByText('FORM').waitFor({ state: 'detached' });
    await tabTo(page, 'Run on live rows');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: '23.5' }).first().waitFor();
    await page.getByRole('status').getByText('Rows come.').waitFor();
    await tabTo(page, 'Make it a rule');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.insertText('keyed');
    await tabTo(page, 'Create');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Rules / keyed' }).waitFor();
    await tabTo(page, 'Stop');
    await page.keyboard.press('Enter');
    // An order that comes before the answer to the last one is none.
    await page.getByRole('status').getByText('Rule keyed was stopped.').waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
    // The button has the focus still.
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    // That of the rule first, which has no drawing, then an empty one.
    await tabTo(page, 'Graph editor');
    await page.keyboard.press('Enter');
    await page.getByText('keyed is a rule with a statement').waitFor();
    await tabTo(page, 'Graph editor');
    await page.keyboard.press('Enter');
    await page.getByText('keyed is a rule with a statement').waitFor({ state: 'detached' });
    await page.getByLabel('Add a stream').getByText('demo').waitFor({ state: 'attached' });
    const add = async (list: string, kind: string) => {
      await tabTo(page, list);
      for (let i = 0; i < 60; i++) {
        if ((await page.getByLabel(list).inputValue()) === kind) break;
        await page.keyboard.press('ArrowDown');
      }
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
    };
    await add('Add a stream', 'demo');
    await page.getByRole('status').getByText('demo is in the drawing.').waitFor({ state: 'attached' });
    await add('Add a sink', 'log');
    await page.getByRole('status').getByText('log is in the drawing.').waitFor({ state: 'attached' });
    await tabTo(page, 'demo');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Leads to');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('demo leads to log.').waitFor({ state: 'attached' });
    await tabTo(page, 'Name');
    await page.keyboard.insertText('drawn');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Rule drawn' }).waitFor();
    const { topo } = (await server.request('GET', '/rules/drawn')).json.graph;
    assert.equal(topo, { sources: ['demo'], edges: { demo: ['log'] } });
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('definitions are looked at and imported, a module is installed and used', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('transfer');
    await page.getByRole('heading', { name: 'Import and export' }).waitFor();
    await tabTo(page, 'Content');
    await page.keyboard.insertText(JSON.stringify({ streams: { demo: stream } }));
    await tabTo(page, 'Look what would happen');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('All of it would be taken.').waitFor();
    assert.equal((await server.request('GET', '/streams')).json, []);
    await tabTo(page, 'Import');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('All of it was taken.').waitFor();
    assert.equal((await server.request('GET', '/streams')).json, ['demo']);
    await tabTo(page, 'JSON');
    const download = page.waitForEvent('download');
    await page.keyboard.press('Enter');
    assert.is((await download).suggestedFilename(), 'haumea.json');
    await tabTo(page, 'User code');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'User code' }).waitFor();
    await tabTo(page, 'New');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    // What chooses files is a dialogue of the system.
    await hasFocus(page, 'File');
    await page.getByLabel('File', { exact: true }).setInputFiles(module);
    await tabTo(page, 'Create');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'numbers', exact: true }).waitFor();
    await hasFocus(page, 'New');
    await tabTo(page, 'Expression, as twice(21)');
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('half(21)');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Try a function' }).getByRole('status').getByText('10').waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('a dialogue keeps the focus while it is open, gives it back, and is closed by Escape', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('sources/streams');
    await page.getByRole('cell', { name: 'demo', exact: true }).waitFor();
    for (const [opener, closer] of [
      ['New', 'Escape'],
      ['New', 'Cancel'],
      ['Details demo', 'Close'],
      ['Guess columns demo', 'Escape'],
      ['Delete demo', 'Cancel'],
    ] as const) {
      await page.getByRole('button', { name: opener }).focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      for (let i = 0; i < 25; i++) {
        await page.keyboard.press('Tab');
        const { isIn, isWithBrowser, name } = await focusedIn(page);
        // The browser has a turn between the last part and the first, and may end it between two looks.
        assert.ok(isIn || isWithBrowser, `${opener}: ${name}`);
      }
      if (closer === 'Escape') await page.keyboard.press(closer);
      else await dialog.getByRole('button', { name: closer }).press('Enter');
      await dialog.waitFor({ state: 'detached' });
      await hasFocus(page, opener);
    }
    await page.getByRole('button', { name: 'Delete demo' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByText('There are none.').waitFor();
    await holds(page, 'the content has the focus', "document.activeElement.id === 'content'");
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('on a narrow screen the menu opens, leads on, and closes by keys', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('', { viewport: { width: 360, height: 740 } });
    const menu = page.getByRole('button', { name: 'Menu' });
    await menu.press('Enter');
    const settings = page.getByRole('link', { name: 'Settings' });
    await settings.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    await settings.waitFor({ state: 'hidden' });
    await hasFocus(page, 'Menu');
    await page.keyboard.press('Enter');
    await settings.press('Enter');
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    await settings.waitFor({ state: 'hidden' });
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
