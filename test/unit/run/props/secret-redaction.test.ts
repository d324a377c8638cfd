/** Secrets behind references do not show in what connectors say about their failures. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../../host/base/errors.js';
import { allOf, nothingSecret, redactedError, redactedTexts } from '../../../../host/base/secrets/redact.js';
import { openEngine } from '../../../support/engine/engine-harness.js';
import { eventually } from '../../../support/harness.js';

const closedPort = 1;

test('status and connections of a rule show no resolved value', async () => {
  // The value shows in the reason of the failure, as that of a library might.
  process.env.HAUMEA_SECRET_REDACTED = '127.0.0.1';
  const running = openEngine();
  try {
    running.stream('CREATE STREAM s (a BIGINT) WITH (TYPE="memory", DATASOURCE="redaction", FORMAT="json")');
    running.run('r', 'SELECT a FROM s', [
      [
        'mqtt',
        {
          server: `tcp://127.0.0.1:${closedPort}`,
          username: 'u',
          password: 'env://HAUMEA_SECRET_REDACTED',
          topic: 't',
        },
      ],
    ]);
    await running.figure('r', 'sink_mqtt_0_0_exceptions_total', (count) => count > 0);
    const status = JSON.stringify(await running.engine.status('r'));
    assert.match(status, '******');
    assert.not.match(status, '127.0.0.1');
    const uses = running.engine.connectionUses();
    assert.is(uses.length, 1);
    assert.is(uses[0]?.props.password, '******');
    assert.is(uses[0]?.props.server, `tcp://******:${closedPort}`);
    await running.engine.stop('r');
    assert.not.match(JSON.stringify(await running.engine.status('r')), '127.0.0.1');
  } finally {
    await running.close();
  }
});

test('a secret that comes while the rule runs is masked as those before', async () => {
  process.env.HAUMEA_SECRET_FIRST = 'nobody says it';
  process.env.HAUMEA_SECRET_SECOND = '127.0.0.1';
  const running = openEngine();
  const sql = 'CREATE STREAM s (a BIGINT) WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="in", FORMAT="json")';
  const conf = { server: `tcp://127.0.0.1:${closedPort}`, username: 'u' };
  try {
    running.stream(sql, { ...conf, password: 'env://HAUMEA_SECRET_FIRST' });
    running.run('r', 'SELECT a FROM s', [['nop', {}]]);
    await running.figure('r', 'source_s_0_exceptions_total', (count) => count > 0);
    running.stream(sql, { ...conf, password: 'env://HAUMEA_SECRET_SECOND' });
    running.engine.renew(['s']);
    await eventually('a reason without it', async () => {
      const { metrics } = await running.engine.status('r');
      return String(metrics.source_s_0_last_exception).includes('******');
    });
  } finally {
    await running.close();
  }
});

test('an error keeps its kind and loses the secret', () => {
  const redact = allOf([nothingSecret, (text) => text.replaceAll('hunter2', '******')]);
  const error = redactedError(new HaumeaError('config', 'hunter2 is no address'), redact);
  assert.instance(error, HaumeaError);
  assert.is((error as HaumeaError).kind, 'config');
  assert.is((error as HaumeaError).message, '****** is no address');
  const other = new Error('refused');
  assert.is(redactedError(other, redact), other);
});

test('texts are masked at any depth, and nothing is copied where nothing is secret', () => {
  const figures = { total: 1, last: 'login as root failed', nested: { list: ['root', 2] } };
  const redact = (text: string) => text.replaceAll('root', '******');
  assert.equal(redactedTexts(figures, redact), {
    total: 1,
    last: 'login as ****** failed',
    nested: { list: ['******', 2] },
  });
  assert.is(redactedTexts(figures, allOf([nothingSecret, nothingSecret])), figures);
});

test.run();
