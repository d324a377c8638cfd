/** The guide, as the server gives it to browsers. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../support/harness.js';

test('pages come compressed, by relative addresses, without a token and at once', async () => {
  const server = await startServer({ env: { KUIPER__BASIC__AUTHENTICATION: 'true' } });
  const page = await fetch(`${server.base}/docs`, { headers: { 'accept-encoding': 'br' } });
  assert.is(page.url, `${server.base}/docs/`);
  assert.is(page.headers.get('content-encoding'), 'br');
  assert.match(String(page.headers.get('content-security-policy')), "default-src 'none'; script-src 'self'");
  const html = await page.text();
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

test.run();
