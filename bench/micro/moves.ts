/**
 * How long rows stand still when a rule with much state moves to another data plane. The rule reads a shared stream
 * over MQTT with `qos` 1, and so does another one that passes each row on and moves with it. They are filled and then
 * get some messages a second. A third rule ties them to a stream that is read elsewhere. Tells the longest time between
 * two rows, in five seconds before and during the move, and the bytes of the state.
 *
 *     npx tsx bench/micro/moves.ts [window|groups|lag] [MB] [messages a second]
 */
import { connectClient } from '../../test/support/brokers/broker.js';
import { openMosquitto } from '../../test/support/brokers/mosquitto.js';
import { openDivided } from '../../test/support/engine/engine-harness.js';
import { eventually } from '../../test/support/harness.js';

const [kind = 'window', megabytes = '100', perSecond = '1000'] = process.argv.slice(2);
const textBytes = 900;
const rows = Math.round((Number(megabytes) * 1e6) / (textBytes + 100));
const tickMs = 10;

const statements: Record<string, string> = {
  window: 'SELECT * FROM a GROUP BY TUMBLINGWINDOW(hh, 24)',
  groups: 'SELECT k, max(t) AS t FROM a GROUP BY k, TUMBLINGWINDOW(hh, 24)',
  lag: 'SELECT lag(t) OVER (PARTITION BY k) = t AS same FROM a',
};

const broker = await openMosquitto();
// Loads are not looked at: the rules have less to do than three.
const { engine, stream, run, figure, close } = openDivided(2, 3_600_000);
const client = await connectClient(broker.url);
const results = await connectClient(broker.url);
const props = { server: broker.url, qos: 1 };
stream('CREATE STREAM a () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="a", FORMAT="JSON", SHARED="true")', props);
stream('CREATE STREAM b () WITH (TYPE="simulator", CONF_KEY="b", SHARED="true")', {
  data: [{ n: -1 }],
  interval: 100,
  loop: true,
});
const sinkOf = (topic: string) => ({ server: broker.url, topic, qos: 0, sendSingle: true });
for (const id of ['b1', 'b2', 'b3']) run(id, 'SELECT n FROM b', [['mqtt', sinkOf(id)]]);
const kept = { qos: 1, checkpointIntervalMs: 3000 };
run('moved', statements[kind]!, [['nop', {}]], kept);
run('seen', 'SELECT n FROM a', [['mqtt', sinkOf('out')]], kept);
await eventually('the source', () => engine.opening('moved') !== undefined);

let n = 0;
const send = (count: number): void => {
  for (let i = 0; i < count; i++, n++) {
    const t = `${n} `.padEnd(textBytes, 'x');
    client.publish('a', JSON.stringify({ n, k: n % rows, t }), { qos: 1 });
  }
};
const read = () => figure('moved', 'sourceRecordsInTotal', (value) => value >= n);
while (n < rows + 1000) {
  send(1000);
  await read();
}
console.log(`${kind}: ${rows} rows`);

let lastAt = performance.now();
let longest = 0;
await results.subscribeAsync('out');
results.on('message', () => {
  const now = performance.now();
  longest = Math.max(longest, now - lastAt);
  lastAt = now;
});
const timer = setInterval(() => send(Math.max(1, (Number(perSecond) * tickMs) / 1000)), tickMs);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
await pause(1000);
longest = 0;
await pause(5000);
console.log(`before: ${longest.toFixed(0)} ms`);
const { metrics } = await engine.status('moved');
const mb = (name: string) => `${(Number(metrics[name]) / 1e6).toFixed(0)} MB`;
console.log(`state: ${mb('stateBytes')} in memory, ${mb('lastCheckpointBytes')} on disk`);
longest = 0;
const asked = performance.now();
run('both', 'SELECT a.n FROM a INNER JOIN b ON a.n = b.n GROUP BY COUNTWINDOW(10)', [['nop', {}]]);
await eventually('the move', () => engine.placement('seen')?.plane === 0 && engine.state('seen') === 'running');
const arrivedAt = performance.now();
await eventually('rows again', () => lastAt > arrivedAt);
console.log(`move: ${(arrivedAt - asked).toFixed(0)} ms, longest pause ${longest.toFixed(0)} ms`);
clearInterval(timer);
await Promise.all([results.endAsync(), client.endAsync()]);
await close();
await broker.close();
process.exit(0);
