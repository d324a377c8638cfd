/** The guide, as the server gives it to browsers. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, needsBrowser } from '../support/console/browser.js';
import { startServer } from '../support/harness.js';

test('pages come compressed, by relative addresses, without a token and at once', async () => {
  const server = await startServer({ env: { KUIPER__BASIC__AUTHENTICATION: 'true' } });
  const page = await fetch(`${server.base}/docs`, { headers: { 'accept-encoding': 'br, gzip' } });
  assert.is(page.url, `${server.base}/docs/`);
  assert.is(page.headers.get('content-encoding'), 'gzip');
  // The guide has no form for brotli: who takes no other gets the page as it is.
  const plain = await fetch(page.url, { headers: { 'accept-encoding': 'br' } });
  assert.equal([plain.status, plain.headers.get('content-encoding')], [200, null]);
  assert.match(String(page.headers.get('content-security-policy')), "default-src 'none'; script-src 'self'");
  const html = await page.text();
  assert.is(await plain.text(), html);
  const assets = [...html.matchAll(/(?:src|href|data-\w+)="(assets\/[^"]+)"/g)].map(([, name]) => name);
  assert.is(assets.length, 4, html);
  for (const name of assets) {
    const answer = await fetch(`${server.base}/docs/${name}`);
    assert.match(String(answer.headers.get('cache-control')), 'immutable');
    const tag = { 'cache-control': 'max-age=0', 'if-none-match': answer.headers.get('etag')! };
    assert.is((await fetch(answer.url, { headers: tag })).status, 304);
  }
  assert.is((await server.request('GET', '/docs/decisions/')).status, 200);
  for (const path of [
    '/docs/..%2fmain.mjs',
    '/docs/missing.html',
    '/docs/decisions',
    '/docs/.docs-stamp',
    '/docs/a.md',
  ])
    assert.is((await server.request('GET', path)).status, 404, path);
  assert.is((await server.request('POST', '/docs/', {})).status, 405);
  await server.stop();
});

/** A page of each kind. */
const kinds = ['index', 'tutorial', 'queries', 'functions/array', 'api/rules', 'decisions/0130-guide'];

if (needsBrowser('the guide in a browser')) {
  test('pages of all kinds are fit for all readers, and ask no other host', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    for (const path of kinds) {
      const page = await browser.at(`${server.base}/docs/${path}.html`);
      await page.getByRole('button', { name: 'Search' }).waitFor();
      await checkLook(page, `guide-${path.replace('/', '-')}`);
      await page.close();
    }
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('a function is found by the keyboard alone, and colours are kept', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.at(`${server.base}/docs/decisions/0001-structure.html`);
    await page.getByLabel('Colours').selectOption('dark');
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Words' }).fill('regexp_replace');
    await page
      .getByRole('status')
      .getByText(/^\d+ results$/)
      .waitFor();
    await page.keyboard.press('ArrowDown');
    await checkLook(page, 'guide-search');
    await page.keyboard.press('Enter');
    await page.waitForURL(/functions\/string\.html#regexp_replace$/);
    await page.getByRole('heading', { name: 'regexp_replace' }).waitFor();
    assert.is(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('an example runs in the playground: its streams are made, its rows are there', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.at(`${server.base}/docs/tutorial.html`);
    await page.getByRole('link', { name: 'Run the mean of two rows for each device' }).click();
    await page.getByRole('button', { name: 'Create them' }).click();
    await page.getByText('This example reads streams').waitFor({ state: 'detached' });
    assert.equal((await server.request('GET', '/streams')).json, ['readings']);
    const editor = page.getByRole('textbox', { name: 'Statement', exact: true });
    assert.match(await editor.innerText(), /^SELECT device, avg\(temperature\) AS mean FROM readings/);
    await page.getByRole('button', { name: 'Run on these rows' }).click();
    await page.getByRole('cell', { name: '185', exact: true }).waitFor();
    await page.getByRole('cell', { name: '21', exact: true }).waitFor();
    await checkLook(page, 'guide-example');
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('as files of a disk the guide is searched too, and its examples lead to a server of this machine', async () => {
    const browser = await ConsoleBrowser.open('file://');
    const page = await browser.at(new URL('../../dist/docs/recipes.html', import.meta.url).href);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox', { name: 'Words' }).fill('falls silent');
    await page
      .getByRole('link', { name: /^A device falls silent/ })
      .first()
      .waitFor();
    const link = page.getByRole('banner').locator('a[href="http://localhost:9081/console/"]');
    await link.and(page.getByRole('link', { name: 'Console' })).waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
  });
}

test.run();
