/** Log lines of rules: whose they are, where they go, and that no secret is in them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LogTree } from '../../../../host/base/log/log-tree.js';
import { openBroker } from '../../../support/brokers/broker.js';
import { openEngine } from '../../../support/engine/engine-harness.js';
import { openLog } from '../../../support/engine/open-log.js';
import { eventually, freePort, temporaryFolder } from '../../../support/harness.js';

function open() {
  const { log, folder, text } = openLog();
  const logs = new LogTree(log, folder);
  const opened = openEngine({ log, logs });
  opened.stream('CREATE STREAM sim () WITH (TYPE="simulator", CONF_KEY="sim")', { interval: 5 });
  return {
    ...opened,
    log,
    text,
    has: (name: string, pattern: RegExp) => eventually(`${pattern} in ${name}`, () => pattern.test(text(name))),
    close: async () => {
      await opened.close();
      logs.close();
      log.close();
    },
  };
}

test('the lines of a rule with logFilename go to that file, those of others to the main log', async () => {
  const { run, engine, has, text, close } = open();
  run('own', "SELECT 'from own' AS a FROM sim", [['log', {}]], { logFilename: 'own.log' });
  run('plain', "SELECT 'from plain' AS a FROM sim", [['log', {}]]);
  await has('own.log', /level=info msg="sink result for rule own: .*from own.*rule=own/);
  await has('stream.log', /sink result for rule plain: .*from plain.*rule=plain/);
  await engine.remove('own');
  assert.not.match(text(), /from own/);
  assert.not.match(text('own.log'), /from plain/);
  await close();
});

test('with debug a rule tells how it begins and ends, and no other rule does', async () => {
  const { run, engine, text, has, reach, close } = open();
  run('loud', 'SELECT temperature FROM sim', [['nop', {}]], { debug: true });
  run('quiet', 'SELECT temperature FROM sim', [['nop', {}]]);
  await has('stream.log', /level=debug msg="source sim is open" rule=loud/);
  await has('stream.log', /level=debug msg="sink nop is open" rule=loud/);
  await reach('quiet', 'running');
  await engine.stop('loud');
  await has('stream.log', /level=debug msg=ended rule=loud/);
  assert.not.match(text(), /level=debug.*rule=quiet/);
  await close();
});

test('a connection that is down is one line for each reason, and one when it is there again', async () => {
  const port = await freePort();
  const { run, engine, stream, text, has, figure, close } = open();
  const server = `tcp://127.0.0.1:${port}`;
  stream('CREATE STREAM remote (a BIGINT) WITH (TYPE="mqtt", DATASOURCE="in", CONF_KEY="remote")', { server });
  run('far', 'SELECT a FROM remote', [['mqtt', { server, topic: 'out' }]]);
  await figure('far', 'sink_mqtt_0_0_exceptions_total', (count) => count >= 2);
  const refused = `is disconnected: connect ECONNREFUSED 127.0.0.1:${port}" rule=far`;
  await has('stream.log', new RegExp(`level=warn msg="source remote ${refused}`));
  await has('stream.log', new RegExp(`level=warn msg="sink mqtt ${refused}`));
  const broker = await openBroker(port);
  await has('stream.log', /level=info msg="source remote is connected" rule=far/);
  await has('stream.log', /level=info msg="sink mqtt is connected" rule=far/);
  assert.is(text().split('source remote is disconnected').length, 2);
  // One connection that was not there is one error, of the source, however often it was tried.
  const { metrics } = await engine.status('far');
  assert.is(metrics.source_remote_0_exceptions_total, 1);
  assert.is(metrics.op_2_decoder_0_exceptions_total, 0);
  assert.is(metrics.op_2_decoder_0_last_exception, '');
  await close();
  await broker.close();
});

test('a failure is told in the main log and in the file of the rule', async () => {
  const { run, reach, has, close } = open();
  // What is no folder can't hold a file.
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  run('bad', 'SELECT temperature FROM sim', [['file', { path: join(file, 'x') }]], { logFilename: 'bad.log' });
  await reach('bad', 'stopped by error');
  await has('stream.log', /level=error msg="rule bad stopped by error: file sink: E[A-Z]+/);
  await has('bad.log', /level=error msg="stopped by error: file sink: E[A-Z]+.* rule=bad/);
  await close();
});

test('no log line and no trace shows a secret that a connector lets out', async () => {
  const { run, engine, has, text, figure, close } = open();
  // The nop sink logs what it gets: the row holds the value, as the message of a library would.
  const sql = `SELECT 'written "secret" 77' AS a, 'plain-pass-word' AS b FROM sim`;
  const props = { log: true, token: 'written "secret" 77', password: 'plain-pass-word' };
  run('r', sql, [['nop', props]], { enableRuleTracer: true });
  await has('stream.log', /rule=r/);
  await figure('r', 'sinkRecordsOutTotal', (value) => value > 3);
  const id = await eventually('a trace with data', () =>
    engine.traces.idsOf('r').find((one) => JSON.stringify(engine.traces.get(one)).includes('data')),
  );
  const shown = `${text()} ${JSON.stringify(engine.traces.get(id))}`;
  assert.match(shown, /\*{6}/);
  assert.not.match(shown, /secret\W+ 77/);
  assert.not.match(shown, 'plain-pass-word');
  await close();
});

test.run();
