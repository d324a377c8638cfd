/** The console in a browser: streams, connections, keys, schemas, files, user code, import and export. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, hasText, needsBrowser } from '../support/console/browser.js';
import { startServer, type TestServer } from '../support/harness.js';

const module = fileURLToPath(new URL('../guests/numbers.wasm', import.meta.url));

if (needsBrowser('forms of the console in a browser')) {
  let server: TestServer;
  let browser: ConsoleBrowser;
  let page: Page;

  test.before(async () => {
    server = await startServer();
    browser = await ConsoleBrowser.open(server.base);
    page = await browser.page('sources');
  });
  test.after(async () => {
    await browser.close();
    await server.stop();
  });

  /** Opens a part of a page and the form of a new one there. */
  async function newOne(path: string): Promise<void> {
    await page.goto(`${server.base}/console/#/${path}`);
    await page.getByRole('button', { name: 'New' }).click();
  }
  const create = () => page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();

  test('a stream is made by its fields, its statement can be changed', async () => {
    await newOne('sources/streams');
    await page.getByLabel('Name', { exact: true }).fill('demo');
    await page.getByLabel('Type', { exact: true }).selectOption('simulator');
    await page.getByLabel('Columns', { exact: true }).fill('temperature FLOAT');
    const statement = page.getByLabel('Statement', { exact: true });
    await hasText(statement, 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")');
    await checkLook(page, 'new-stream');
    await create();
    await page.getByRole('cell', { name: 'simulator, json' }).waitFor();
    await checkLook(page, 'streams');
    await page.getByRole('link', { name: 'Messages demo' }).click();
    await page.getByRole('button', { name: 'Run on live rows' }).click();
    await page.getByRole('cell', { name: '22.5' }).first().waitFor();
  });

  test('columns of a stream are guessed from its messages, and declared', async () => {
    await page.goto(`${server.base}/console/#/sources/streams`);
    await page.getByRole('button', { name: 'Guess columns demo' }).click();
    await page.getByRole('cell', { name: 'temperature', exact: true }).waitFor();
    await page.getByText(/^Messages seen/).waitFor();
    await checkLook(page, 'guess');
    await page
      .getByLabel('Statement', { exact: true })
      .fill('CREATE STREAM demo (temperature FLOAT, humidity BIGINT) WITH (TYPE="simulator", FORMAT="json")');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(Object.keys((await server.request('GET', '/streams/demo/schema')).json), ['temperature', 'humidity']);
  });

  test('what the server refuses stands in the form', async () => {
    await newOne('sources/connections');
    await page.getByLabel('Name', { exact: true }).fill('plant');
    await page.getByLabel('Type', { exact: true }).first().selectOption('mqtt');
    await page.getByLabel('Server', { exact: false }).first().fill('tcp://127.0.0.1:1');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('status').getByText('ECONNREFUSED').waitFor();
    await create();
    await page.getByRole('cell', { name: /^mqtt, / }).waitFor();
    await checkLook(page, 'connections');
    await newOne('sources/connections');
    await page.getByLabel('Name', { exact: true }).fill('plant');
    await create();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Discard it' }).click();
  });

  test('keys, schemas and files are made and deleted', async () => {
    await newOne('sources/keys');
    await page.getByLabel('Name', { exact: true }).fill('hall');
    await page.getByLabel('Type', { exact: true }).first().selectOption('mqtt');
    await page.getByLabel('Server', { exact: false }).first().fill('tcp://127.0.0.1:1883');
    await create();
    await page.getByRole('cell', { name: 'mqtt / hall', exact: true }).waitFor();
    await checkLook(page, 'keys');
    await newOne('sources/schemas');
    await page.getByLabel('Name', { exact: true }).fill('reading');
    await page.getByLabel('Content').fill('syntax = "proto3"; message Reading { double t = 1; }');
    await create();
    await page.getByRole('cell', { name: 'protobuf / reading', exact: true }).waitFor();
    await checkLook(page, 'schemas');
    await newOne('sources/uploads');
    const file = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') };
    await page.getByLabel('File', { exact: true }).setInputFiles(file);
    await create();
    await page.getByRole('button', { name: 'Delete a.txt' }).waitFor();
    await checkLook(page, 'uploads');
    await page.getByRole('button', { name: 'Delete a.txt' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There are none.').waitFor();
    assert.equal((await server.request('GET', '/config/uploads')).json, []);
  });

  test('a module is installed from a file and used, a script is written', async () => {
    await newOne('code/modules');
    await page.getByLabel('File', { exact: true }).setInputFiles(module);
    await create();
    await page.getByRole('cell', { name: 'numbers', exact: true }).waitFor();
    await checkLook(page, 'modules');
    const { functions } = (await server.request('GET', '/plugins/wasm/numbers')).json;
    assert.ok(functions.length > 0);
    await newOne('code/javascript');
    await page.getByLabel('Name', { exact: true }).fill('twice');
    await page.getByRole('textbox', { name: 'Script' }).fill('function twice(a) { return a * 2; }');
    await create();
    await page.getByRole('cell', { name: 'twice', exact: true }).waitFor();
    await page.getByLabel('Expression').fill('twice(21)');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('status').getByText('42', { exact: true }).waitFor();
    assert.equal((await server.request('GET', '/streams')).json, ['demo']);
    await page.getByLabel('Expression').fill('twice(21');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('region', { name: 'Try a function' }).locator('pre.bad').waitFor();
    await checkLook(page, 'javascript');
    await page.goto(
      `${server.base}/console/#/playground?sql=${encodeURIComponent('SELECT twice(temperature) AS d FROM demo')}`,
    );
    await page.reload();
    await page.getByRole('button', { name: 'Run on live rows' }).click();
    await page.getByRole('cell', { name: '45' }).first().waitFor();
  });

  for (const path of ['sources/tables', 'code/services', 'code/portables']) {
    test(`${path} can be looked at, and has a form for a new one`, async () => {
      await newOne(path);
      await page.getByRole('dialog').getByLabel('Name', { exact: true }).waitFor();
      await checkLook(page, path.replace('/', '-'));
      await page.keyboard.press('Escape');
    });
  }

  test('settings of the running server are changed, what is wrong is said', async () => {
    await page.goto(`${server.base}/console/#/settings`);
    await page.getByLabel('Log level').selectOption('warn');
    await page.getByLabel('Time zone').fill('Nowhere/City');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').getByText('Nowhere/City').waitFor();
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The settings are in force.').waitFor();
    await page.getByRole('region', { name: 'Server' }).getByText('%').waitFor();
    await checkLook(page, 'settings');
  });

  test('definitions are exported, looked at, and imported', async () => {
    await page.goto(`${server.base}/console/#/transfer`);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'JSON' }).click();
    const text = readFileSync(await (await download).path(), 'utf8');
    assert.match(JSON.parse(text).streams.demo, 'simulator');
    assert.is((await server.request('DELETE', '/streams/demo')).status, 200);
    await page.getByLabel('Content').fill(text);
    await page.getByRole('button', { name: 'Look what would happen' }).click();
    await page.getByText('All of it would be taken.').waitFor();
    await page.getByText(/^New: 1 · Changed: 0 · Removed: 0 · Same: [1-9]/).waitFor();
    await page.getByRole('button', { name: 'streams demo' }).click();
    await page.getByText('+ CREATE STREAM demo').waitFor();
    await checkLook(page, 'differences');
    assert.equal((await server.request('GET', '/streams')).json, []);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('All of it was taken.').waitFor();
    assert.equal((await server.request('GET', '/streams')).json, ['demo']);
    await checkLook(page, 'transfer');
    assert.equal(browser.faults, []);
  });
}

test.run();
