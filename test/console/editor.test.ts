/** The console in a browser: a rule is drawn, saved, watched and drawn on. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, hasText, needsBrowser } from '../support/console/browser.js';
import { startServer } from '../support/harness.js';

if (needsBrowser('the graph editor in a browser')) {
  test('a rule is drawn by hand and by keys, runs, and is opened again', async () => {
    const server = await startServer();
    const sql = 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")';
    assert.is((await server.request('POST', '/streams', { sql })).status, 201);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('editor');
    await page.locator('.chip.source', { hasText: 'demo' }).dragTo(page.locator('svg.canvas'));
    await page.getByLabel('Add an operator').selectOption('filter');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByLabel(/^Condition/).fill('temperature > 1');
    await page.getByLabel('Add a sink').selectOption('file');
    await page.getByRole('button', { name: 'Add file' }).click();
    await page.getByLabel(/^Path/).fill('drawn.txt');
    // From the port of the stream to the filter with the mouse, from there to the sink by the list.
    const from = (await page.locator('.node.source .port').boundingBox())!;
    const to = (await page.locator('.node.operator rect').boundingBox())!;
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'filter', exact: true }).click();
    await page.getByLabel('Leads to').selectOption('file');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByLabel('Name', { exact: true }).fill('drawn');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'drawn' }).waitFor();
    const { graph } = (await server.request('GET', '/rules/drawn')).json;
    assert.equal(graph.topo, { sources: ['demo'], edges: { demo: ['filter'], filter: ['file'] } });
    assert.equal(graph.nodes.filter.props, { expr: 'temperature > 1' });
    await page.locator('.node.operator .rate', { hasText: '/s' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'filter', exact: true }).click();
    await hasText(page.getByLabel(/^Condition/), 'temperature > 1');
    await checkLook(page, 'editor');
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
