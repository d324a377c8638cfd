/** The console in a browser: overview and rules, with and without a token. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, needsBrowser } from '../support/console/browser.js';
import { startServer, type TestServer, temporaryFolder } from '../support/harness.js';

const stream = 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")';
const sink = { mqtt: { server: 'tcp://127.0.0.1:1', topic: 'x' } };

async function define(server: TestServer): Promise<void> {
  assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
  for (const [id, action] of [
    ['calm', { nop: {} }],
    ['troubled', sink],
  ] as const) {
    const rule = { id, sql: 'SELECT * FROM demo', actions: [action], tags: ['test'] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
  }
}

test('programs get the text of the server, browsers its console, compressed and small', async () => {
  const server = await startServer();
  const plain = await server.request('GET', '/');
  assert.is(plain.json.version.length > 0, true);
  const page = await server.request('GET', '/', undefined, { accept: 'text/html,*/*' });
  assert.match(page.text, '<div id="app">');
  assert.match(String(page.headers.get('content-security-policy')), "default-src 'none'; script-src 'self'");
  const scripts = [...page.text.matchAll(/(?:src|href)="([\w-]+\.(?:js|css))"/g)].map(([, name]) => name);
  assert.ok(scripts.length >= 2, page.text);
  let bytes = 0;
  for (const name of scripts) {
    const answer = await fetch(`${server.base}/console/${name}`, { headers: { 'accept-encoding': 'br' } });
    assert.is(answer.headers.get('content-encoding'), 'br');
    assert.match(String(answer.headers.get('cache-control')), 'immutable');
    bytes += Number(answer.headers.get('content-length'));
    const again = await fetch(answer.url, {
      headers: { 'accept-encoding': 'br', 'cache-control': 'max-age=0', 'if-none-match': answer.headers.get('etag')! },
    });
    assert.is(again.status, 304);
  }
  assert.ok(bytes < 250_000, `${bytes} bytes at the first visit`);
  for (const path of ['/console/..%2fmain.mjs', '/console/missing.js', '/console/a/b.js', '/console/index.html.br']) {
    assert.is((await server.request('GET', path)).status, 404, path);
  }
  assert.is((await server.request('POST', '/console/', {})).status, 405);
  await server.stop();
});

if (needsBrowser('the console in a browser')) {
  test('shows what is in trouble, stops and deletes rules, and goes on after a restart of the server', async () => {
    const data = temporaryFolder();
    const server = await startServer({ data });
    await define(server);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page();
    await page.getByText('ECONNREFUSED').waitFor();
    await page.getByText('2 Running').waitFor();
    // All that was fetched before the playground is opened, as it came over the network.
    const fetched = (await page.evaluate(
      "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]" +
        ".filter(({ name }) => name.includes('/console/'))" +
        '.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)',
    )) as number;
    assert.ok(fetched > 10_000 && fetched < 250_000, `${fetched} bytes before the playground`);
    await checkLook(page, 'overview');
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page.getByRole('button', { name: 'Stop calm' }).click();
    await page.getByRole('button', { name: 'Start calm' }).waitFor();
    await checkLook(page, 'rules');
    await page.getByLabel('Search').fill('troubled');
    await page.getByText('1 of 2').waitFor();
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    // Its sink waits for a broker that is away, so the answer comes later than the rule is gone.
    const deleted = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('0 of 1').waitFor();
    assert.is((await deleted).status(), 200);
    assert.is((await server.request('GET', '/rules/troubled')).status, 404);
    await server.stop();
    await page.getByText('The server does not answer').waitFor();
    const again = await startServer({ data, port: Number(new URL(server.base).port) });
    await page.getByText('The server does not answer').waitFor({ state: 'detached' });
    await page.getByLabel('Search').fill('');
    await page.getByRole('button', { name: 'Start calm' }).waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await again.stop();
  });

  test('asks for a token where the server wants one', async () => {
    const etc = temporaryFolder();
    mkdirSync(join(etc, 'mgmt'));
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(join(etc, 'mgmt', 'plant'), publicKey.export({ type: 'spki', format: 'pem' }));
    const server = await startServer({ args: ['--etc', etc], env: { KUIPER__BASIC__AUTHENTICATION: 'true' } });
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page();
    await page.getByLabel('Token').fill('no.token.this');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    await checkLook(page, 'login');
    const token = new SignJWT({}).setProtectedHeader({ alg: 'RS256' }).setIssuer('plant').setAudience('eKuiper');
    await page.getByLabel('Token').fill(await token.sign(privateKey));
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('There are no rules yet').first().waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Token').waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
