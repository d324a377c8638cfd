/** MATCH_RECOGNIZE through REST: what is refused, EXPLAIN, rows, and a server that starts again with such rules. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

const rising =
  'SELECT * FROM telem MATCH_RECOGNIZE (PARTITION BY dev MEASURES FIRST(A.x) AS low, LAST(B.x) AS high ' +
  'PATTERN (A B{2}) DEFINE B AS x > PREV(x) AND x > FIRST(A.x))';

let server: TestServer;

test.before(async () => {
  server = await startServer();
  await server.request('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
  writeFileSync(join(server.data, 'in'), [1, 2, 3, 0].map((x) => `${JSON.stringify({ dev: 'a', x })}\n`).join(''));
  const options = '(TYPE="file", FORMAT="json", DATASOURCE="in", CONF_KEY="here")';
  assert.is((await server.request('POST', '/streams', { sql: `CREATE STREAM telem () WITH ${options}` })).status, 201);
});
test.after(async () => void (await server.stop()));

const ruleOf = (id: string, sql: string) => ({
  id,
  sql,
  triggered: false,
  actions: [{ file: { path: join(server.data, 'out'), fileType: 'lines', sendSingle: true } }],
});

test('a statement is validated, with the place of what is wrong', async () => {
  const good = await server.request('POST', '/rules/validate', ruleOf('v', rising));
  assert.is(good.status, 200, good.text);
  const wrong = await server.request('POST', '/rules/validate', ruleOf('v', rising.replace('DEFINE B', 'DEFINE C')));
  assert.is(wrong.status, 422);
  const column = rising.indexOf('B AS x >') + 1;
  assert.match(wrong.text, new RegExp(`DEFINE: PATTERN has no variable C.* \\(line 1, column ${column}\\)`));
});

test('EXPLAIN shows splits of the automaton, what must not come, and how long rows are kept', async () => {
  const sql =
    'SELECT * FROM telem MATCH_RECOGNIZE (PARTITION BY dev MEASURES count(*) AS n AFTER MATCH SKIP TO NEXT ROW ' +
    "PATTERN (A (B | C)* NOT D WITHIN INTERVAL '1' SECOND) WITHIN INTERVAL '5' SECOND DEFINE D AS x > 9)";
  assert.is((await server.request('POST', '/rules', ruleOf('absent', sql))).status, 201);
  const { text } = await server.request('GET', '/rules/absent/explain');
  assert.match(text, /Pattern:A \(B \| C\)\* NOT D WITHIN INTERVAL '1000' MILLISECOND/);
  const steps = '0:row A, 1:split 2 or 7, 2:split 3 or 5, 3:row B, 4:jump 6, 5:row C, 6:jump 1, 7:absent D, 8:match';
  assert.match(text, new RegExp(steps));
  assert.match(text, /Skip:next, Within:5000 ms/);
  assert.match(text, /the rows of each partition that a match may have, of the last 5000 ms; partial matches, up to m/);
});

test('a rule shows its automaton, finds matches, and is there after a restart', async () => {
  const made = await server.request('POST', '/rules', ruleOf('rises', rising));
  assert.is(made.status, 201, made.text);
  const explained = await server.request('GET', '/rules/rises/explain');
  assert.match(explained.text, /PatternPlan/);
  assert.match(explained.text, /0:row A, 1:row B, 2:row B, 3:match/);
  assert.match(explained.text, /B by the row and by the match so far/);
  assert.match(explained.text, /Keeps:\[ telem\.x, telem\.dev \]/);
  assert.match(explained.text, /grows as long as it goes on \(WITHIN bounds it\); partial matches, up to max/);
  await server.stop();
  server = await startServer({ data: server.data });
  assert.match((await server.request('GET', '/rules/rises/explain')).text, /PatternPlan/);
  assert.is((await server.request('POST', '/rules/rises/start')).status, 200);
  const out = join(server.data, 'out');
  const written = () => (existsSync(out) ? readFileSync(out, 'utf8').trim() : '');
  await eventually('the match is written', () => written() !== '');
  assert.is(written(), '{"dev":"a","high":3,"low":1}');
});

test.run();
