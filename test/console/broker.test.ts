/** The console in a browser: a broker goes away and comes back, and the pages say so. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto, openMosquitto } from '../support/brokers/mosquitto.js';
import { ConsoleBrowser, needsBrowser } from '../support/console/browser.js';
import { announceSkip, startServer } from '../support/harness.js';

if (!hasMosquitto) announceSkip('the console and a broker that stops', 'mosquitto is not installed');
else if (needsBrowser('the console and a broker that stops')) {
  test('trouble with a broker is seen, and is gone when the broker is back', async () => {
    const broker = await openMosquitto();
    const server = await startServer();
    const conf = { server: broker.url };
    assert.is((await server.request('PUT', '/metadata/sources/mqtt/confKeys/hall', conf)).status, 200);
    const sql = 'CREATE STREAM plant () WITH (TYPE="mqtt", DATASOURCE="plant", CONF_KEY="hall", FORMAT="json")';
    assert.is((await server.request('POST', '/streams', { sql })).status, 201);
    const rule = { id: 'watch', sql: 'SELECT * FROM plant', actions: [{ nop: {} }] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const overview = await browser.page();
    const history = await browser.page('rules/watch/errors');
    const log = history.getByRole('log', { name: 'Status history' });
    await overview.getByText('Nothing is in trouble.').waitFor();
    await log.getByRole('listitem').first().waitFor();
    await broker.close();
    await overview.getByRole('region', { name: 'In trouble' }).getByRole('link', { name: 'watch' }).waitFor();
    await log.getByText(/^plant: /).waitFor();
    const again = await openMosquitto(broker.port);
    await overview.getByText('Nothing is in trouble.').waitFor();
    // Running, in trouble, running.
    await log.getByRole('listitem').nth(2).waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
    await again.close();
  });
}

test.run();
