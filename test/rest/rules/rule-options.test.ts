/** Options of rules: which are taken, and how the others are refused. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane(undefined, { KUIPER__RULE__RESTARTSTRATEGY__ATTEMPTS: '3' });
test.after(() => plane.close());
await plane.request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });

const rule = (id: string, options: unknown) => ({ id, sql: 'SELECT a FROM s', actions: [{ log: {} }], options });

/** Option, reason. */
const refused: [Record<string, unknown>, RegExp][] = [
  [{ logFilename: 5 }, /logFilename must be a text, not 5/],
  [{ logFilename: '../other.log' }, /logFilename must be a plain file name/],
  [{ logFilename: '/var/log/rule.log' }, /logFilename must be a plain file name/],
  [{ logFilename: 'a\\b' }, /logFilename must be a plain file name/],
  [{ logFilename: '.hidden' }, /logFilename must be a plain file name/],
  [{ logFilename: 'x'.repeat(300) }, /logFilename must be a plain file name/],
  [{ logFilename: 'stream.log' }, /logFilename must not be stream\.log/],
  [{ logFilename: 'a.2026-01-02T03-04-05-678Z' }, /logFilename must not end like an old log file/],
  [{ qos: -1 }, /qos must be at least 0/],
  [{ qos: 1.5 }, /qos must be an integer/],
  [{ qos: '1' }, /qos must be an integer, not "1"/],
  [{ checkpointInterval: 'x' }, /checkpointInterval must be a duration/],
  [{ checkpointInterval: -5 }, /checkpointInterval must be at least 0ms/],
  [{ checkpointInterval: true }, /checkpointInterval must be a duration/],
  [{ debug: 'yes' }, /debug must be true or false, not "yes"/],
  [{ isEventTime: 1 }, /isEventTime must be true or false/],
  [{ lateTolerance: '1 week' }, /lateTolerance must be a duration/],
  [{ concurrency: -1 }, /concurrency must be at least 0/],
  [{ bufferLength: '64' }, /bufferLength must be an integer/],
  [{ sendError: null, sendNilField: {} }, /sendNilField must be true or false/],
  [{ restartStrategy: { attempts: -1 } }, /restartStrategy\.attempts must be at least 0/],
  [{ restartStrategy: { retries: 1 } }, /restartStrategy\.retries is not known/],
  [{ restartStrategy: 5 }, /restartStrategy must be an object/],
  [{ cronDatetimeRange: [{ begin: 5, end: 'x' }] }, /cronDatetimeRange\[0\]\.begin must be a text/],
  [{ cronDatetimeRange: 'always' }, /cronDatetimeRange must be a list/],
  [{ planOptimizeStrategy: { enableIncrementalWindow: 'true' } }, /enableIncrementalWindow must be true or false/],
  [{ enableRuleTracer: 'on' }, /enableRuleTracer must be true or false/],
  [{ experiment: { useSliceTuple: 1 } }, /experiment\.useSliceTuple must be true or false/],
  [{ sendErrors: true }, /sendErrors is not known, did you mean sendError\?/],
  [{ color: 'red' }, /color is not known/],
];

test('a wrong option is refused with its name and the reason, and nothing is kept', async () => {
  for (const [options, reason] of refused) {
    const given = JSON.stringify(options);
    const answer = await plane.request('POST', '/rules', rule('bad', options));
    assert.is(answer.status, 400, given);
    assert.match(answer.json.message, reason, given);
    assert.match(answer.json.message, /rule bad options/, given);
    const checked = await plane.request('POST', '/rules/validate', rule('bad', options));
    assert.is(checked.status, 422, given);
    assert.match(checked.text, reason, given);
  }
  assert.equal((await plane.request('GET', '/rules')).json, []);
});

test('an update with a wrong option leaves the rule as it was', async () => {
  const first = rule('kept', { qos: 1 });
  assert.is((await plane.request('POST', '/rules', first)).status, 201);
  assert.is((await plane.request('PUT', '/rules/kept', rule('kept', { qos: -3 }))).status, 400);
  assert.equal((await plane.request('GET', '/rules/kept')).json, first);
  await plane.request('DELETE', '/rules/kept');
});

test('every option there is is taken, in the forms in which clients write it', async () => {
  const options = {
    debug: true,
    logFilename: 'rule_1.log',
    isEventTime: true,
    lateTolerance: '2s',
    concurrency: 2,
    bufferLength: 64,
    sendMetaToSink: false,
    sendNilField: true,
    sendError: true,
    qos: 9,
    checkpointInterval: 60_000,
    restartStrategy: { attempts: 2, delay: 1000, multiplier: 1.5, maxDelay: '30s', jitterFactor: 0.2 },
    cron: '',
    duration: '',
    cronDatetimeRange: [{ begin: '2020-01-01 00:00:00', end: '2090-01-02 00:00:00' }],
    planOptimizeStrategy: {
      enableIncrementalWindow: true,
      enableAliasPushdown: true,
      disableAliasRefCal: false,
      optimizeControl: { disableOptimizeRules: ['columnPruner'] },
      windowOption: { enableSendSlidingWindowTwice: false, windowVersion: 'v2' },
    },
    notifySub: true,
    disableBufferFullDiscard: true,
    enableSaveStateBeforeStop: true,
    forceExitTimeout: '5s',
    experiment: { useSliceTuple: true },
    enableRuleTracer: true,
  };
  const answer = await plane.request('POST', '/rules', rule('all', options));
  assert.is(answer.status, 201, answer.text);
  assert.equal((await plane.request('GET', '/rules/all')).json.options, options);
  await plane.request('DELETE', '/rules/all');
  const nothing = Object.fromEntries(Object.keys(options).map((name) => [name, null]));
  assert.is((await plane.request('POST', '/rules', rule('none', nothing))).status, 201);
  await plane.request('DELETE', '/rules/none');
});

test('letter case of an option does not matter', async () => {
  const answer = await plane.request('POST', '/rules', rule('case', { ISEVENTTIME: 'x' }));
  assert.is(answer.status, 400);
  assert.match(answer.json.message, /isEventTime must be true or false/);
});

test('an option that is taken and does nothing is named in the log', async () => {
  const server = await startControlPlane(undefined, { KUIPER__BASIC__FILELOG: 'true' });
  await server.request('POST', '/streams', { sql: 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")' });
  const idle = {
    concurrency: 2,
    planOptimizeStrategy: { enableAliasPushdown: true },
    experiment: { useSliceTuple: false },
  };
  assert.is((await server.request('POST', '/rules', rule('idle', { ...idle, sendError: true, cron: '' }))).status, 201);
  assert.is((await server.request('POST', '/rules', rule('quiet', { qos: 0, duration: '' }))).status, 201);
  await server.close();
  const log = readFileSync(join(server.data, 'log/stream.log'), 'utf8');
  assert.match(log, 'msg="rule idle: options without effect: concurrency, planOptimizeStrategy.enableAliasPushdown"');
  assert.not.match(log, 'rule quiet: options');
});

test.run();
