/** Rules that are updated: what of their state goes on, and what an update loses is said before it is lost. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';

const dataPort = await freePort();
const server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) } });
test.after(async () => {
  await server.stop();
});

let rules = 0;

/** A rule below a stream of its own, whose results are read from a file. */
class Rule {
  readonly id = `r${++rules}`;
  readonly stream = `s${rules}`;
  readonly #out = join(server.data, this.id);
  #pushed = 0;

  constructor(private readonly options: object = { qos: 1, checkpointInterval: '1h' }) {}

  /** The statement names the stream `demo`. */
  definition(sql: string, options: object = {}): object {
    const actions = [{ file: { path: this.#out, sendSingle: true } }];
    return { sql: sql.replace('demo', this.stream), actions, options: { ...this.options, ...options } };
  }

  async create(sql: string): Promise<void> {
    const stream = `CREATE STREAM ${this.stream} () WITH (TYPE="httppush", DATASOURCE="/${this.id}", FORMAT="json")`;
    assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
    const made = await server.request('POST', '/rules', { id: this.id, ...this.definition(sql) });
    assert.is(made.status, 201, made.text);
  }

  async push(...rows: object[]): Promise<void> {
    for (const row of rows) {
      const answer = await request(`http://127.0.0.1:${dataPort}`, 'POST', `/${this.id}`, row);
      assert.is(answer.status, 200, answer.text);
    }
    this.#pushed += rows.length;
    await eventually(
      'the rows',
      async () => (await this.status())[`source_${this.stream}_0_records_in_total`] === this.#pushed,
    );
  }

  async status(): Promise<Record<string, unknown>> {
    return (await server.request('GET', `/rules/${this.id}/status`)).json;
  }

  async preview(sql: string, options?: object): Promise<Record<string, string[]>> {
    const answer = await server.request('PUT', `/rules/${this.id}?dryRun=true`, this.definition(sql, options));
    assert.is(answer.status, 200, answer.text);
    return answer.json.state;
  }

  /** Returns the header with what the answer says besides. */
  async update(sql: string, options?: object): Promise<string> {
    const answer = await server.request('PUT', `/rules/${this.id}`, this.definition(sql, options));
    assert.is(answer.text, `Rule ${this.id} was updated successfully.`);
    this.#pushed = 0;
    return answer.headers.get('warning') ?? '';
  }

  results(): unknown[] {
    if (!existsSync(this.#out)) return [];
    const lines = readFileSync(this.#out, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  async result(count: number): Promise<unknown> {
    await eventually(`${count} results`, () => this.results().length >= count);
    return this.results()[count - 1];
  }
}

test('a sum goes on when a column is selected beside it, and begins anew only with other rows', async () => {
  const rule = new Rule();
  await rule.create('SELECT acc_sum(temp) AS total FROM demo');
  await rule.push({ temp: 1, device: 'a' }, { temp: 2, device: 'b' });
  assert.equal(await rule.result(2), { total: 3 });
  const wider = 'SELECT device, acc_sum(temp) AS total, lag(temp) AS before FROM demo';
  assert.equal(await rule.preview(wider), { kept: ['acc_sum(temp)'], lost: [], empty: ['lag(temp)'] });
  const said = await rule.update(wider);
  assert.match(said, /the rule goes on with its state of [^;]+; begins empty: lag\(temp\)"/);
  await rule.push({ temp: 4, device: 'c' });
  assert.equal(await rule.result(3), { device: 'c', total: 7 });
  const narrower = 'SELECT lag(temp) AS before, acc_sum(temp + 1) AS other FROM demo';
  const { lost, empty } = await rule.preview(narrower);
  assert.equal(
    { lost, empty },
    { lost: ['acc_sum(temp): the statement has it no more'], empty: ['acc_sum(temp + 1)'] },
  );
  assert.match(
    await rule.update(narrower),
    /a part of its state of [^;]+; lost: acc_sum\(temp\): the statement has it no more;/,
  );
  await rule.push({ temp: 5 });
  assert.equal(await rule.result(4), { before: 4, other: 6 });
});

test('functions and windows that get other rows begin anew, and the answer says which rows', async () => {
  const rule = new Rule();
  await rule.create('SELECT lag(count(*)) AS before, count(*) AS n FROM demo WHERE temp > 1 GROUP BY COUNTWINDOW(2)');
  await rule.push({ temp: 1 }, { temp: 2 });
  const other = 'SELECT lag(count(*)) AS before, count(*) AS n FROM demo WHERE temp > 2 GROUP BY COUNTWINDOW(2)';
  const rows = (least: number) => `the rows FROM ${rule.stream} WHERE temp > ${least}`;
  const reason = `it has seen ${rows(1)}, and will see ${rows(2)}`;
  assert.equal(await rule.preview(other), {
    kept: [],
    lost: [`COUNTWINDOW(2): ${reason}`, `lag(count(*)): ${reason.replaceAll(/(temp > \d)/g, '$1 COUNTWINDOW(2)')}`],
    empty: [],
  });
  assert.match(await rule.update(other), /lost: COUNTWINDOW\(2\): it has seen the rows/);
});

test('a rule without duplicates goes on when another column is sent', async () => {
  const rule = new Rule();
  await rule.create('SELECT device FROM demo WHERE had_changed(true, device)');
  await rule.push({ device: 'a', temp: 1 }, { device: 'a', temp: 2 });
  const wider = 'SELECT device, temp FROM demo WHERE had_changed(true, device)';
  assert.equal(await rule.preview(wider), { kept: ['had_changed(true, device)'], lost: [], empty: [] });
  assert.match(await rule.update(wider), /the rule goes on with its state of [^;"]+"$/);
  await rule.push({ device: 'a', temp: 3 }, { device: 'b', temp: 4 });
  assert.equal(await rule.result(2), { device: 'b', temp: 4 });
  assert.equal(rule.results().length, 2);
});

test('HAVING above a window is no part of what the window has gathered', async () => {
  const rule = new Rule();
  const sql = (least: number) => `SELECT count(*) AS n FROM demo GROUP BY COUNTWINDOW(3) HAVING count(*) > ${least}`;
  await rule.create(sql(1));
  await rule.push({ a: 1 }, { a: 2 });
  assert.equal(await rule.preview(sql(2)), { kept: ['COUNTWINDOW(3)'], lost: [], empty: [] });
  assert.match(await rule.update(sql(2)), /the rule goes on with its state of [^;"]+"$/);
  await rule.push({ a: 3 });
  assert.equal(await rule.result(1), { n: 3 });
});

test('what rows and groups that are there do not have is said: a new column, a new aggregate', async () => {
  const rows = new Rule();
  await rows.create('SELECT temp FROM demo GROUP BY COUNTWINDOW(3)');
  await rows.push({ temp: 1, device: 'a' }, { temp: 2, device: 'b' });
  const wider = 'SELECT device, temp FROM demo GROUP BY COUNTWINDOW(3)';
  assert.equal((await rows.preview(wider)).empty, ['device of the rows in COUNTWINDOW(3)']);
  assert.match(await rows.update(wider), /begins empty: device of the rows in COUNTWINDOW\(3\)/);
  await rows.push({ temp: 3, device: 'c' });
  await rows.result(3);
  assert.equal(rows.results(), [{ temp: 1 }, { temp: 2 }, { device: 'c', temp: 3 }]);

  const groups = new Rule();
  await groups.create('SELECT device, sum(temp) AS s FROM demo GROUP BY device, COUNTWINDOW(3)');
  await groups.push({ temp: 1, device: 'a' }, { temp: 2, device: 'a' });
  const more = 'SELECT device, sum(temp) AS s, max(temp) AS m, room FROM demo GROUP BY device, COUNTWINDOW(3)';
  assert.equal(await groups.preview(more), {
    kept: ['COUNTWINDOW(3) by device'],
    lost: [],
    empty: ['room of the groups in COUNTWINDOW(3) by device', 'max(temp) of the groups in COUNTWINDOW(3) by device'],
  });
  await groups.update(more);
  await groups.push({ temp: 1, device: 'a' });
  assert.equal(await groups.result(1), { device: 'a', s: 4, m: 1 });
});

test('rows of a sliding window are there for a new aggregate as well', async () => {
  const rule = new Rule();
  await rule.create('SELECT count(*) AS n, min(temp) AS low FROM demo GROUP BY SLIDINGWINDOW(hh, 1)');
  await rule.push({ temp: 5 }, { temp: 7 });
  const more = 'SELECT count(*) AS n, min(temp) AS low, max(temp) AS high FROM demo GROUP BY SLIDINGWINDOW(hh, 1)';
  assert.equal(await rule.preview(more), { kept: ['SLIDINGWINDOW(hh, 1)'], lost: [], empty: [] });
  await rule.update(more);
  await rule.push({ temp: 6 });
  assert.equal(await rule.result(3), { n: 3, low: 5, high: 7 });
});

test('state that is in memory alone is lost with any update, and the options that keep it are named', async () => {
  const rule = new Rule({});
  await rule.create('SELECT acc_count(temp) AS n FROM demo');
  await rule.push({ temp: 1 });
  const same = 'SELECT acc_count(temp) AS n FROM demo';
  const reason = 'the state of the rule is in memory alone (option qos 0 without enableSaveStateBeforeStop)';
  assert.equal(await rule.preview(same, { qos: 1 }), { kept: [], lost: [`acc_count(temp): ${reason}`], empty: [] });
  assert.match(
    await rule.update(same, { qos: 1 }),
    /the update loses state: acc_count\(temp\): the state of the rule is in memory/,
  );
  await rule.push({ temp: 1 });
  assert.equal(await rule.result(2), { n: 1 });
  const { lost } = await rule.preview(same, { qos: 0 });
  assert.match(lost?.[0] ?? '', /^acc_count\(temp\): the new definition keeps no state/);
});

test('a rule without state has none to lose', async () => {
  const rule = new Rule({});
  await rule.create('SELECT temp FROM demo');
  assert.equal(await rule.preview('SELECT temp, device FROM demo WHERE temp > 1'), { kept: [], lost: [], empty: [] });
  assert.is(await rule.update('SELECT temp, device FROM demo WHERE temp > 1'), '');
});

test('a dry run changes nothing, and refuses what the update would refuse', async () => {
  const rule = new Rule();
  const sql = 'SELECT acc_sum(temp) AS total FROM demo';
  await rule.create(sql);
  await rule.push({ temp: 1 });
  const before = {
    definition: (await server.request('GET', `/rules/${rule.id}`)).json,
    start: (await rule.status()).lastStartTimestamp,
  };
  await rule.preview('SELECT acc_max(temp) AS most FROM demo');
  const after = {
    definition: (await server.request('GET', `/rules/${rule.id}`)).json,
    start: (await rule.status()).lastStartTimestamp,
  };
  assert.equal(after, before);
  const wrong = rule.definition('SELECT acc_sum(temp AS total FROM demo');
  const [dry, real] = [
    await server.request('PUT', `/rules/${rule.id}?dryRun=true`, wrong),
    await server.request('PUT', `/rules/${rule.id}`, wrong),
  ];
  assert.is(dry.status, 400);
  assert.is(dry.text, real.text);
  for (const word of ['', 'yes', 'ture']) {
    const { status, text } = await server.request(
      'PUT',
      `/rules/${rule.id}?dryRun=${word}`,
      rule.definition('SELECT 1 FROM demo'),
    );
    assert.is(status, 400, word);
    assert.ok(text.includes('expected true or false'), text);
  }
  assert.equal((await server.request('GET', `/rules/${rule.id}`)).json, before.definition);
  const fresh = await server.request('PUT', '/rules/none?dryRun=true', rule.definition(sql));
  assert.equal(fresh.json, { isNew: true, sources: [rule.stream], state: { kept: [], lost: [], empty: [] } });
  assert.is((await server.request('GET', '/rules/none')).status, 404);
});

test('a rule that is stopped goes on from where it was left, through definitions that never ran', async () => {
  const rule = new Rule();
  await rule.create('SELECT acc_sum(temp) AS total FROM demo');
  await rule.push({ temp: 3 });
  await rule.result(1);
  await server.request('POST', `/rules/${rule.id}/stop`);
  const other = { ...rule.definition('SELECT temp FROM demo'), triggered: false };
  const said = (await server.request('PUT', `/rules/${rule.id}`, other)).headers.get('warning') ?? '';
  assert.match(said, /the update loses state: acc_sum\(temp\): the statement has it no more/);
  const again = 'SELECT device, acc_sum(temp) AS total FROM demo';
  assert.equal((await rule.preview(again)).kept, ['acc_sum(temp)']);
  await rule.update(again);
  await rule.push({ temp: 4, device: 'a' });
  assert.equal(await rule.result(2), { device: 'a', total: 7 });
});

test('the command line shows what an update would lose, and updates', async () => {
  const rule = new Rule();
  await rule.create('SELECT acc_sum(temp) AS total, lag(temp) AS before FROM demo');
  await rule.push({ temp: 3 });
  const definition = JSON.stringify(rule.definition('SELECT acc_sum(temp) AS total, device FROM demo'));
  const commands = new Commands(process.cwd(), { HAUMEA_URL: server.base });
  const run = (id: string, ...more: string[]) => commands.run(`update rule ${id}`, undefined, definition, ...more);
  const dry = await run(rule.id, '--dry-run');
  assert.is(dry.code, 0, dry.err);
  assert.is(
    dry.out,
    'kept   acc_sum(temp)\nlost   lag(temp): the statement has it no more\nNothing was changed: this was a dry run.\n',
  );
  const real = await run(rule.id);
  assert.is(real.code, 0);
  assert.match(
    real.out,
    /^Rule \w+ was updated successfully\.\nWarning: the rule goes on with a part of its state .*lost: lag\(temp\)/,
  );
  const wrong = await run('nobody');
  assert.is(wrong.code, 1);
  assert.match(wrong.err, /nobody is not found/);
});

test.run();
