/** What a connector declares as secret is masked wherever it is shown, whatever its name, and kept on a round trip. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';

const server = await startServer();
test.after(async () => void (await server.stop()));
const { request } = server;
await request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (DATASOURCE="t", TYPE="memory")' });

const [key, letterKey] = ['first-key-word-1', 'other-key-word-2'].map((text) =>
  Buffer.from(text).subarray(0, 16).toString('base64'),
) as [string, string];
const secrets = [
  'body-word',
  key,
  'api-key-word',
  'scheme-word',
  'signature-word',
  'oauth-word',
  letterKey,
  'a-long-token-of-git',
  'second-word',
];
const rest = {
  url: 'http://a-long-token-of-git@h/path?unit=c&sig=signature-word',
  headers: { 'X-Api-Key': 'api-key-word', 'X-Who': 'Bearer scheme-word', Accept: 'text/plain' },
  decrypt: { algorithm: 'aes', key: key },
  oauth: { access: { url: 'http://h/token', body: 'oauth-word' } },
  deadLetter: { rest: { url: 'http://h', decrypt: { algorithm: 'aes', key: letterKey } } },
};
const kafka = { brokers: 'h:9092', topic: 't', saslPassword: 'second-word' };
const httppull = { url: 'http://h', body: 'body-word', headers: rest.headers };

function shownWithout(text: string): void {
  for (const secret of secrets) assert.not.match(text, secret);
}

async function exported(path = '/data/export') {
  return (await request('GET', path)).json;
}

test('rules: actions, their dead letters, and drawn sources', async () => {
  const drawn = {
    nodes: {
      in: { type: 'source', nodeType: 'httppull', props: httppull },
      out: { type: 'sink', nodeType: 'rest', props: rest },
    },
    topo: { sources: ['in'], edges: { in: ['out'] } },
  };
  const rules = [
    { id: 'sql', sql: 'SELECT * FROM s', actions: [{ rest }, { kafka }], triggered: false },
    { id: 'drawn', graph: drawn, triggered: false },
  ];
  for (const rule of rules) {
    const made = await request('POST', '/rules', rule);
    assert.is(made.status, 201, made.text);
    const shown = await request('GET', `/rules/${rule.id}`);
    shownWithout(shown.text);
    assert.match(shown.text, '"Accept":"text/plain"');
    assert.match(shown.text, 'unit=c');
    const again = await request('PUT', `/rules/${rule.id}`, shown.json);
    assert.is(again.status, 200, again.text);
    const { actions, graph } = JSON.parse((await exported()).rules[rule.id]);
    assert.equal({ actions, graph }, { actions: rule.actions, graph: rule.graph });
  }
});

test('configuration keys of sources and of sinks', async () => {
  const path = '/metadata/sources/httppull/confKeys/k';
  assert.is((await request('PUT', path, httppull)).status, 200);
  const list = await request('GET', '/metadata/sources/yaml/httppull');
  shownWithout(list.text);
  assert.is((await request('PUT', path, list.json.k)).status, 200);
  assert.equal(JSON.parse((await exported()).sourceConfig.httppull).k, httppull);
  shownWithout((await request('GET', '/metadata/resource?sourceType=')).text);
  // Those of sinks are shown in exports alone.
  const { deadLetter: _ofActions, ...own } = rest;
  const made = await request('PUT', '/metadata/sinks/rest/confKeys/k', own);
  assert.is(made.status, 200, made.text);
});

test('connections', async () => {
  const props = { server: '127.0.0.1:1', nkeySeed: 'second-word' };
  const made = await request('POST', '/connections', { id: 'n', typ: 'nats', props });
  assert.is(made.status, 201, made.text);
  const shown = await request('GET', '/connections/n');
  shownWithout(shown.text);
  const again = await request('PUT', '/connections/n', { id: 'n', typ: 'nats', props: shown.json.props });
  assert.is(again.status, 200, again.text);
  assert.equal(JSON.parse((await exported()).connectionConfig.nats).n, props);
});

test('the option EXTRA of a stream', async () => {
  const extra = JSON.stringify({ ...httppull, interval: 1000 });
  const sql = `CREATE STREAM pulled () WITH (TYPE="httppull", DATASOURCE="/a?sig=signature-word", EXTRA='${extra}')`;
  assert.is((await request('POST', '/streams', { sql })).status, 201);
  const described = await request('GET', '/streams/pulled');
  shownWithout(described.text);
  assert.match(described.json.Options.extra, '"interval":1000');
  shownWithout((await request('POST', '/streams', { sql: 'DESCRIBE STREAM pulled' })).text);
  const { datasource, extra: masked } = described.json.Options;
  const back = `CREATE STREAM pulled () WITH (TYPE="httppull", DATASOURCE="${datasource}", EXTRA='${masked}')`;
  const changed = await request('PUT', '/streams/pulled', { sql: back });
  assert.is(changed.status, 200, changed.text);
  const stored = (await exported()).streams.pulled;
  for (const secret of ['body-word', 'api-key-word', 'scheme-word', 'signature-word']) assert.match(stored, secret);
  const away = back.replace('http://h', 'http://away');
  const refused = await request('PUT', '/streams/pulled', { sql: away });
  assert.is(refused.status, 400);
  assert.match(refused.text, /the mask \*{6} stands for what was given with another url/);
});

test('exports without secrets leave them out, and imports bring them back', async () => {
  const whole = await exported();
  for (const secret of secrets) assert.match(JSON.stringify(whole), secret);
  const omitted = await request('GET', '/data/export?secrets=omit');
  shownWithout(omitted.text);
  const imported = await request('POST', '/data/import?partial=1', { content: omitted.text });
  assert.is(imported.status, 200, imported.text);
  const { streams: _masked, ...kept } = await exported();
  const { streams: _whole, ...before } = whole;
  assert.equal(kept, before);
});

test.run();
