/** The console in a browser: other servers seen from one, and a token that may only read. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, needsBrowser } from '../support/console/browser.js';
import { freePort, startServer, temporaryFolder } from '../support/harness.js';

const stream = 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")';
const rule = (sql: string) => ({ id: 'hot', sql, actions: [{ nop: {} }] });

if (needsBrowser('the console of many servers in a browser')) {
  test('shows the servers of the list, who differs, and gives them the same rule', async () => {
    const etc = temporaryFolder();
    const [first, second] = await Promise.all([startServer({ args: ['--etc', etc] }), startServer()]);
    const servers = [
      { name: 'hall-1', url: first.base, groups: ['halls'] },
      { name: 'hall-2', url: second.base, groups: ['halls'] },
      { name: 'hall-3', url: `http://127.0.0.1:${await freePort()}` },
    ];
    writeFileSync(join(etc, 'fleet.yaml'), JSON.stringify({ servers }));
    for (const server of [first, second]) {
      assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
      const sql = `SELECT * FROM demo WHERE temperature > ${server === first ? 20 : 30}`;
      assert.is((await server.request('POST', '/rules', rule(sql))).status, 201);
    }
    const browser = await ConsoleBrowser.open(first.base);
    const page = await browser.page('fleet');
    await page.getByText('ECONNREFUSED').waitFor();
    await page.getByText('1 Running').first().waitFor();
    await checkLook(page, 'fleet');
    await page.getByRole('link', { name: 'Rules side by side' }).click();
    await page.getByRole('cell', { name: 'Differs' }).waitFor();
    await page.getByText('text 2').waitFor();
    await checkLook(page, 'fleet-rules');
    await page.getByRole('link', { name: 'Differences' }).click();
    await page.locator('summary', { hasText: 'hot' }).click();
    await page.getByText('+   "sql": "SELECT * FROM demo WHERE temperature >').first().waitFor();
    await checkLook(page, 'fleet-differences');
    await page.getByRole('link', { name: 'Give rules to a group' }).click();
    const sql = 'SELECT * FROM demo WHERE temperature > 25';
    await page.getByLabel('Ruleset').fill(JSON.stringify({ rules: { hot: JSON.stringify(rule(sql)) } }));
    await page.getByRole('button', { name: 'Give', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Give', exact: true }).click();
    await page.getByText('all servers must answer and take it').waitFor();
    await page.getByRole('combobox', { name: /^Group/ }).selectOption('halls');
    await page.getByRole('button', { name: 'Look what would happen' }).click();
    await page.getByRole('cell', { name: 'would take it' }).first().waitFor();
    await checkLook(page, 'fleet-push');
    await page.getByRole('button', { name: 'Give', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Give', exact: true }).click();
    await page.getByText('It was carried out').waitFor();
    for (const server of [first, second]) assert.is((await server.request('GET', '/rules/hot')).json.sql, sql);
    assert.equal(browser.faults, []);
    await browser.close();
    await first.stop();
    await second.stop();
  });

  test('with a token that may only read nothing can be changed, and all is shown', async () => {
    const etc = temporaryFolder();
    mkdirSync(join(etc, 'mgmt'));
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(join(etc, 'mgmt', 'plant'), publicKey.export({ type: 'spki', format: 'pem' }));
    const server = await startServer({ args: ['--etc', etc], env: { KUIPER__BASIC__AUTHENTICATION: 'true' } });
    const tokenOf = (claims: Record<string, unknown>) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256' })
        .setIssuer('plant')
        .setAudience('eKuiper')
        .sign(privateKey);
    const headers = { authorization: await tokenOf({}) };
    assert.is((await server.request('POST', '/streams', { sql: stream }, headers)).status, 201);
    assert.is((await server.request('POST', '/rules', rule('SELECT * FROM demo'), headers)).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('rules');
    await page.getByLabel('Token').fill(await tokenOf({ access: 'read' }));
    await page.getByRole('button', { name: 'Log in' }).click();
    const isOff = async (name: string) => {
      const button = page.getByRole('button', { name }).first();
      await button.waitFor();
      assert.ok(await button.isDisabled(), name);
    };
    await isOff('Stop hot');
    await page.getByText('This token may only read').waitFor();
    await checkLook(page, 'rules-reading');
    await page.getByRole('link', { name: 'hot' }).click();
    for (const name of ['Stop', 'Restart', 'Delete']) await isOff(name);
    await page.getByRole('link', { name: 'Definition' }).click();
    await isOff('Save');
    await page.getByRole('link', { name: 'SQL playground' }).click();
    await isOff('Run on live rows');
    await page.getByRole('link', { name: 'Settings' }).click();
    await isOff('Save');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Token').fill(headers.authorization);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page.getByRole('button', { name: 'Stop hot' }).click();
    await page.getByRole('button', { name: 'Start hot' }).waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
