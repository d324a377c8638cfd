/** The console in a browser: from a statement with a mistake to a rule that runs, is looked at and changed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, needsBrowser, write } from '../support/console/browser.js';
import { eventually, startServer } from '../support/harness.js';

const stream = 'CREATE STREAM demo (temperature FLOAT, humidity BIGINT) WITH (TYPE="simulator", FORMAT="json")';

if (needsBrowser('the playground in a browser')) {
  test('a statement is corrected, runs on live rows and on given ones, and becomes a rule', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('playground');
    const editor = page.getByRole('textbox', { name: 'Statement', exact: true });
    await write(editor, 'SELECT temperature + 1 AS t FORM demo');
    const fault = page.locator('.cm-lintRange-error');
    await fault.waitFor();
    assert.is(await fault.textContent(), 'FORM');
    await write(editor, 'SELECT temperature + 1 AS t FROM demmo');
    await page.locator('.cm-lintRange-error', { hasText: 'demmo' }).waitFor();
    await write(editor, 'SELECT temperature + 1 AS t FROM demo');
    await fault.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Run on live rows' }).click();
    await page.getByRole('cell', { name: '23.5' }).first().waitFor();
    await checkLook(page, 'playground');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByLabel('on rows of mine').check();
    await page.getByRole('button', { name: 'Take the next messages of demo' }).click();
    const given = page.getByLabel('Rows as JSON');
    await eventually('rows', async () => /humidity/.test(await given.inputValue()) || undefined);
    await given.fill('{"temperature": 99}\n{"temperature": 100}');
    await page.getByRole('button', { name: 'Run on these rows' }).click();
    await page.getByRole('cell', { name: '101' }).waitFor();
    await write(editor, 'SELECT 100 / (temperature - 99) AS q FROM demo');
    await page.getByRole('button', { name: 'Run on these rows' }).click();
    await page.getByRole('cell', { name: /divided by zero/ }).waitFor();
    await page.getByRole('cell', { name: '100', exact: true }).waitFor();
    await write(editor, 'SELECT temperature + 1 AS t FROM demo');
    await page.getByRole('button', { name: 'Make it a rule' }).click();
    await page.getByLabel('Name').fill('warm');
    await page.getByLabel('Results go to').selectOption('file');
    await page.getByLabel(/^Path/).fill('warm.txt');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Rules / warm' }).waitFor();
    assert.equal((await server.request('GET', '/rules/warm')).json.actions, [{ file: { path: 'warm.txt' } }]);
    await page.getByRole('img', { name: /^Drawing of/ }).waitFor();
    await page.locator('.graph .rate', { hasText: '1 → 1 /s' }).first().waitFor();
    await checkLook(page, 'rule');
    await page.getByRole('link', { name: 'Plan' }).click();
    await page.getByText('StreamName: demo').waitFor();
    await checkLook(page, 'plan');
    await page.getByRole('link', { name: 'Traces' }).click();
    await page.getByRole('button', { name: 'Start tracing' }).click();
    await page
      .getByRole('button', { name: /^[0-9a-f]{32}$/ })
      .first()
      .click();
    await page.locator('details').first().waitFor();
    await checkLook(page, 'traces');
    await page.getByRole('button', { name: 'Stop tracing' }).click();
    await page.getByRole('link', { name: 'Definition' }).click();
    await write(editor, 'SELECT max(temperature) AS top FROM demo GROUP BY COUNTWINDOW(2)');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('was updated successfully').waitFor();
    assert.match((await server.request('GET', '/rules/warm')).json.sql, 'COUNTWINDOW');
    await checkLook(page, 'definition');
    // Rows that fail are watched, and where refused messages go is changed.
    await write(editor, 'SELECT humidity % (humidity - humidity) AS h FROM demo');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Errors' }).click();
    await page.getByRole('region', { name: 'Errors by operator' }).getByText('divided by zero').waitFor();
    const rows = page.getByRole('table').filter({ hasText: 'Reason' });
    await rows.getByText('divided by zero').first().waitFor();
    await page.getByRole('button', { name: 'Set Dead letters file' }).click();
    await page.getByLabel('Dead letters go to').selectOption('log');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'log {}' }).waitFor();
    await checkLook(page, 'errors');
    assert.equal((await server.request('GET', '/rules/warm')).json.actions, [
      { file: { path: 'warm.txt', deadLetter: { log: {} } } },
    ]);
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
