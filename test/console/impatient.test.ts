/** The console in a browser for who clicks twice, goes back, loads again, and meets a server that restarts. */
import type { Locator } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, hasText, needsBrowser, write } from '../support/console/browser.js';
import { startServer, temporaryFolder } from '../support/harness.js';

const stream = 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")';
const rule = { id: 'warm', sql: 'SELECT * FROM demo', actions: [{ nop: {} }] };

if (needsBrowser('the console in impatient hands')) {
  test('what is ordered twice at once is done once', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('playground');
    const orders: string[] = [];
    let clicked: Promise<void> = Promise.resolve();
    await page.route(/\/rules(\/|$)/, async (route) => {
      const request = route.request();
      const { pathname } = new URL(request.url());
      if (request.method() !== 'GET' && !/validate/.test(pathname)) {
        orders.push(`${request.method()} ${pathname}`);
        // No answer comes between the clicks, however slow they are.
        await clicked;
      }
      await route.continue();
    });
    const clickTwice = (button: Locator) => {
      clicked = button.dblclick();
      return clicked;
    };
    await write(page.getByRole('textbox', { name: 'Statement', exact: true }), rule.sql);
    await page.getByRole('button', { name: 'Make it a rule' }).click();
    await page.getByLabel('Name').fill('warm');
    await clickTwice(page.getByRole('button', { name: 'Create' }));
    await page.getByRole('heading', { name: 'Rules / warm' }).waitFor();
    await clickTwice(page.getByRole('button', { name: 'Restart' }));
    await page.getByText('was restarted').waitFor();
    await page.getByRole('link', { name: 'Definition' }).click();
    await clickTwice(page.getByRole('button', { name: 'Save' }));
    await clickTwice(page.getByRole('dialog').getByRole('button', { name: 'Save' }));
    await page.getByText('was updated successfully').waitFor();
    assert.equal(orders, ['POST /rules', 'POST /rules/warm/restart', 'PUT /rules/warm', 'PUT /rules/warm']);
    await page.unrouteAll({ behavior: 'wait' });
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('who goes back while a request is under way is not led on by its answer', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('settings');
    await page.getByRole('link', { name: 'SQL playground' }).click();
    await write(page.getByRole('textbox', { name: 'Statement', exact: true }), rule.sql);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/rules$/, async (route) => {
      await answered;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Make it a rule' }).click();
    await page.getByLabel('Name').fill('late');
    const made = page.waitForResponse((response) => response.url().endsWith('/rules'));
    await page.getByRole('button', { name: 'Create' }).click();
    await page.goBack();
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    answer();
    assert.is((await made).status(), 201);
    await page.getByRole('region', { name: 'Server', exact: true }).waitFor();
    assert.match(page.url(), /#\/settings$/);
    await page.goForward();
    await page.getByRole('heading', { name: 'SQL playground' }).waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('text that is not saved is there after the page is loaded again, until it is discarded', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('rules/warm/definition');
    const statement = page.getByRole('textbox', { name: 'Statement', exact: true });
    await write(statement, 'SELECT temperature FROM demo');
    await page.reload();
    await page.getByText('what you have typed before').waitFor();
    await hasText(statement, 'SELECT temperature FROM demo');
    await page.getByRole('link', { name: 'Plan' }).click();
    await page.getByRole('link', { name: 'Definition' }).click();
    await page.getByText('what you have typed before').waitFor();
    await checkLook(page, 'definition-typed');
    await page.getByRole('button', { name: 'Discard it' }).click();
    await hasText(statement, rule.sql);
    // What is discarded is no text of before: what another has made of the rule is shown.
    const changed = { ...rule, sql: 'SELECT temperature + 1 AS t FROM demo' };
    assert.is((await server.request('PUT', '/rules/warm', changed)).status, 200);
    await page.reload();
    await hasText(statement, changed.sql);
    assert.is(await page.getByText('what you have typed before').count(), 0);
    await page.getByRole('link', { name: 'Import and export' }).click();
    await page.getByLabel('Content').fill('{"streams":{}}');
    await page.getByRole('link', { name: 'Graph editor' }).click();
    await page.getByLabel('Add a stream').selectOption('demo');
    await page.getByRole('button', { name: 'Add demo' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'demo', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Discard it' }).click();
    await page.getByRole('button', { name: 'demo', exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Import and export' }).click();
    await hasText(page.getByLabel('Content'), '{"streams":{}}');
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('what is typed before a save is answered stays, and is no part of what is saved', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('rules/warm/definition');
    const statement = page.getByRole('textbox', { name: 'Statement', exact: true });
    const save = page.getByRole('button', { name: 'Save' });
    const inDialog = page.getByRole('dialog').getByRole('button', { name: 'Save' });
    const typedBefore = page.getByText('what you have typed before');
    const columns = (names: string) => `SELECT ${names} FROM demo`;
    /** Saves one text and types another one before a request is answered. */
    const saveAndType = async (late: 'look' | 'save' | 'reload', saved: string, typed: string) => {
      let answer = () => {};
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      let asked = () => {};
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve;
      });
      await write(statement, saved);
      await page.route(/\/rules\/warm(\?|$)/, async (route) => {
        const request = route.request();
        const kind = request.method() === 'GET' ? 'reload' : /dryRun/.test(request.url()) ? 'look' : 'save';
        if (kind === late) {
          asked();
          await answered;
        }
        await route.continue();
      });
      await save.click();
      if (late !== 'look') await inDialog.click();
      await isAsked;
      await write(statement, typed);
      answer();
      if (late === 'look') await inDialog.click();
      await typedBefore.waitFor();
      await hasText(statement, typed);
      await page.unrouteAll({ behavior: 'wait' });
      assert.is((await server.request('GET', '/rules/warm')).json.sql, saved);
      await page.reload();
      await typedBefore.waitFor();
      await hasText(statement, typed);
      await page.getByRole('button', { name: 'Discard it' }).click();
      await hasText(statement, saved);
      assert.is(await typedBefore.count(), 0);
    };
    await statement.waitFor();
    await saveAndType('look', columns('temperature AS a'), columns('temperature AS b'));
    await saveAndType('save', columns('temperature AS c'), columns('temperature AS d'));
    await saveAndType('reload', columns('temperature AS e'), columns('temperature AS f'));
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('keys that come faster than pictures are all in the statement', async () => {
    const server = await startServer();
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('playground');
    const statement = page.getByRole('textbox', { name: 'Statement', exact: true });
    await statement.press('Control+A');
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    const typed = 'SELECT temperature + 1 AS warmer FROM demo WHERE temperature > 20';
    await page.keyboard.type(typed);
    await hasText(statement, typed);
    assert.is(await page.evaluate("localStorage.getItem('haumea.statement')"), typed);
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('a form that is filled outlives a restart of the server', async () => {
    const data = temporaryFolder();
    const server = await startServer({ data });
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('sources/streams');
    await page.getByRole('button', { name: 'New' }).click();
    await page.getByLabel('Type', { exact: true }).selectOption('simulator');
    await page.getByLabel('Name', { exact: true }).fill('kept');
    await server.stop();
    const create = page.getByRole('dialog').getByRole('button', { name: 'Create' });
    await create.click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await hasText(page.getByLabel('Name', { exact: true }), 'kept');
    const again = await startServer({ data, port: Number(new URL(server.base).port) });
    await create.click();
    await page.getByRole('cell', { name: 'kept', exact: true }).waitFor();
    assert.equal(browser.faults, []);
    await browser.close();
    await again.stop();
  });

  test('of 10,000 rules those in sight are drawn, and what is looked for stays while they are asked for', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('settings');
    const rules = Array.from({ length: 10_000 }, (_, i) => ({
      id: i === 0 ? 'a'.repeat(200) : `rule-${i}`,
      name: i === 0 ? 'w'.repeat(400) : `Rule ${i}`,
      status: 'Running',
      version: '',
      trace: false,
      tags: i === 0 ? ['t'.repeat(100)] : null,
      trouble: i === 0 ? ['e'.repeat(2000)] : [],
    }));
    let asked = 0;
    await page.route(/\/rules\?/, async (route) => {
      asked++;
      await route.fulfill({ json: rules });
    });
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page.getByText('10000 of 10000').waitFor();
    assert.ok((await page.getByRole('row').count()) < 100);
    await page.evaluate("document.querySelector('.list').scrollTo(0, 1e9)");
    await page.getByRole('link', { name: 'rule-9999' }).waitFor();
    await page.getByLabel('Search').fill('rule-4711');
    await page.getByText('1 of 10000').waitFor();
    await page.getByRole('link', { name: 'rule-4711' }).waitFor();
    assert.is(asked, 1);
    await page.getByLabel('Search').fill('rule-4');
    await page.evaluate("document.querySelector('.list').scrollTo(0, 0)");
    await page.getByLabel('Search').fill('');
    await page.getByText('10000 of 10000').waitFor();
    await checkLook(page, 'rules-long');
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
