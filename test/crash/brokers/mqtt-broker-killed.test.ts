/**
 * The broker goes away, or is killed hard with its messages on disk, while the engine has messages in its input log
 * whose acknowledgements the broker may not have: rows of a rule of qos 2 are in the file once and in order, and what
 * came again is counted.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { NumberedMessages, SessionRule } from '../../support/brokers/session-rule.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('brokers that are killed in a session', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;
const onEachChange = ['allow_anonymous true', 'autosave_interval 1', 'autosave_on_changes true'];
/** The broker sends so many that are not acknowledged. */
const window = 20;

let broker: Mosquitto;
let folder: string;
let rule: SessionRule;
let messages: NumberedMessages;

test.before.each(async () => {
  if (!hasMosquitto) return;
  folder = temporaryFolder();
  broker = await openMosquitto(undefined, folder, onEachChange);
  rule = await SessionRule.start({ KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '200ms' });
  messages = new NumberedMessages(rule, await connectClient(broker.url));
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  await rule.close();
  await messages.client.endAsync(true);
  await broker.close();
});

const listen = (qos: 1 | 2) => rule.listen({ url: broker.url, qos, clientid: 'killed', checkpointInterval: '1h' });

/** The broker confirms messages before it writes them, and writes the last one with a later change. */
const saved = () =>
  eventually('messages on disk', async () => {
    await messages.client.publishAsync('other', 'a change', { qos: 1, retain: true });
    return readFileSync(join(folder, 'mosquitto.db')).includes(`{"id":${messages.sent - 1}}`);
  });

/** The broker comes back where it was. */
async function comeBack(): Promise<void> {
  broker = await openMosquitto(broker.port, folder, onEachChange);
  messages.client = await connectClient(broker.url);
  await rule.connected();
}

async function checkRows(): Promise<void> {
  await messages.checkRows(30_000);
  assert.is((await rule.status()).source_s_0_messages_processed_total, messages.sent);
}

for (const [end, qos] of [
  ['stop', 1],
  ['close', 1],
  // One that is killed hard may have forgotten which ids it freed: see decision 0093.
  ['stop', 2],
] as const) {
  real(
    `QoS ${qos}: a broker that is ${end === 'stop' ? 'away' : 'killed hard'} before it has any acknowledgement ` +
      'of what is here',
    async () => {
      await listen(qos);
      await messages.send(50, qos);
      await eventually('rows', () => rule.ids().length === 50);
      // The broker fills the window while nobody answers, and has all of it on disk when it confirms what comes next.
      rule.server.child.kill('SIGSTOP');
      await messages.send(window + 30, qos);
      await saved();
      await broker[end]();
      await messages.client.endAsync(true);
      rule.server.child.kill('SIGCONT');
      // The engine reads what had come to the socket, unless the system throws it away with the connection.
      await rule.connected(false);
      await comeBack();
      await checkRows();
      await messages.send(10, qos);
      await checkRows();
    },
  );
}

real('a broker that is killed hard in a backlog, before or after it has on disk what it has sent', async () => {
  await listen(1);
  const rounds = 3;
  for (let round = 1; round <= rounds; round++) {
    rule.server.child.kill('SIGSTOP');
    await messages.send(150, 1);
    await saved();
    rule.server.child.kill('SIGCONT');
    const seen = rule.ids().length;
    await eventually('some rows', () => rule.ids().length >= seen + 30 * round);
    await broker.close();
    await messages.client.endAsync(true);
    await comeBack();
  }
  await eventually('all rows', () => new Set(rule.ids()).size === messages.sent, 30_000);
  const rows = rule.ids();
  assert.equal([...new Set(rows)], [...Array(messages.sent).keys()]);
  // It may have forgotten as well that it has an acknowledgement: what it sends as new then can't be told from a new
  // message. Each time that is a window at most.
  assert.ok(rows.length - messages.sent <= rounds * window, `${rows.length} rows of ${messages.sent} messages`);
});

test.run();
