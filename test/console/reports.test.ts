/** The console in a browser: reports of benchmarks and soaks, and the earlier texts of a rule. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, needsBrowser } from '../support/console/browser.js';
import { startServer, temporaryFolder } from '../support/harness.js';

/** A run as `haumea bench` writes it. */
const run = (engine: string, rate: number) => ({
  workload: 'filter',
  engine,
  dataSet: 'plain',
  sender: 'batching',
  knobs: {},
  rate,
  cpuNsPerMessage: 1e9 / rate,
  cpuShare: 0.5,
  latencyMs: null,
  peakBytes: 120e6,
  findings: engine === 'twin' ? ['3 rows are wrong'] : [],
});

const soak = {
  machine: 'a machine with 2 cores',
  options: {},
  result: {
    seconds: 3600,
    rate: 10_000,
    sent: 36_000_000,
    cpuNsPerMessage: 812,
    failedRequests: 0,
    rows: { lost: 0 },
    findings: [],
    judged: [
      {
        name: 'rss',
        title: 'resident memory',
        unit: 'MB',
        verdict: 'flat',
        before: 100 * 2 ** 20,
        after: 102 * 2 ** 20,
        trend: { mean: 101 * 2 ** 20, slope: 0 },
      },
    ],
  },
};

function dataWithReports(): string {
  const data = temporaryFolder();
  const folder = join(data, 'reports');
  mkdirSync(join(folder, 'nightly'), { recursive: true });
  const results = [run('haumea', 800_000), run('twin', 400_000)];
  writeFileSync(join(folder, 'result.json'), JSON.stringify({ machine: 'a machine with 2 cores', results }));
  writeFileSync(join(folder, 'unfinished.json'), '{"machine":');
  writeFileSync(join(folder, 'nightly', 'soak.json'), JSON.stringify(soak));
  const samples = [0, 0.5, 1].map((hours) => JSON.stringify({ hours, rss: (100 + hours) * 2 ** 20, late: 3 }));
  writeFileSync(join(folder, 'nightly', 'soak-samples.jsonl'), `${samples.join('\n')}\n{"hou`);
  return data;
}

test('reports in the data folder are listed and given with their samples', async () => {
  const server = await startServer({ data: dataWithReports() });
  const { json } = await server.request('GET', '/reports');
  assert.equal((json as { name: string; kind: string }[]).map(({ name, kind }) => [name, kind]).sort(), [
    ['nightly/soak', 'soak'],
    ['result', 'bench'],
  ]);
  const { json: one } = await server.request('GET', '/reports/nightly%2Fsoak');
  assert.equal(one.report, soak);
  assert.equal(
    one.samples.map(({ hours }: { hours: number }) => hours),
    [0, 0.5, 1],
  );
  for (const name of ['..%2Fsecret', 'unfinished', 'nightly%2F..%2Fresult']) {
    assert.is((await server.request('GET', `/reports/${name}`)).status, 404, name);
  }
  await server.stop();
});

if (needsBrowser('reports and versions in a browser')) {
  test('figures of a benchmark and of a soak are shown', async () => {
    const server = await startServer({ data: dataWithReports() });
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('reports');
    await page.getByRole('link', { name: 'result', exact: true }).waitFor();
    await checkLook(page, 'reports');
    await page.getByRole('link', { name: 'result', exact: true }).click();
    await page.getByRole('row', { name: /filter · haumea · plain 800K/ }).waitFor();
    await page.getByText('3 rows are wrong').waitFor();
    await page.getByRole('region', { name: 'Messages per second' }).getByText('400K').waitFor();
    await checkLook(page, 'report-bench');
    await page.getByRole('link', { name: 'Reports' }).first().click();
    await page.getByRole('link', { name: 'nightly/soak' }).click();
    await page.getByRole('row', { name: /resident memory, MB 100 101 102 0 flat/ }).waitFor();
    await page.getByRole('img', { name: /^Resident memory, MB/ }).waitFor();
    await checkLook(page, 'report-soak');
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('an earlier text of a rule is shown line by line, and taken back', async () => {
    const server = await startServer();
    const sql = 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")';
    assert.is((await server.request('POST', '/streams', { sql })).status, 201);
    const rule = { id: 'warm', sql: 'SELECT temperature FROM demo', actions: [{ nop: {} }] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
    const changed = { ...rule, sql: 'SELECT temperature + 1 AS t FROM demo' };
    assert.is((await server.request('PUT', '/rules/warm', changed)).status, 200);
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('rules/warm/versions');
    await page.getByRole('button', { name: /^Version 1, until/ }).click();
    const versions = page.getByRole('region', { name: 'Versions' });
    await versions.getByText('SELECT temperature FROM demo').waitFor();
    await versions.getByText('SELECT temperature + 1 AS t FROM demo').waitFor();
    await checkLook(page, 'versions');
    await versions.getByRole('button', { name: / 1$/ }).click();
    await page.getByRole('button', { name: /^Version 2, until/ }).waitFor();
    assert.is((await server.request('GET', '/rules/warm')).json.sql, rule.sql);
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
