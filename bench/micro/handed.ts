/**
 * Processor time of a message on a shared stream of MQTT, with its rules in one data plane, and divided over two: then
 * it is read in the first and handed to the other, where it is framed and decoded again. Each rule computes a value and
 * a condition, and its sink drops the rows. Counted is the process without its main thread, where nothing but REST is.
 *
 *     npx tsx bench/micro/handed.ts [messages a second] [rules,rules,…] [bytes,bytes,…] [messages of a line]
 */
import { readFileSync } from 'node:fs';
import { openHalved } from '../../test/support/engine/halved.js';
import { eventually } from '../../test/support/harness.js';
import { Generator } from '../generator.js';

const [rate = '20000', rules = '10,100,1000', sizes = '100,1000', messages = '100000'] = process.argv.slice(2);
const numbers = (text: string) => text.split(',').map(Number);
const rounds = 3;

/** Processor time of the process but for its main thread, µs. */
function planesUs(): number {
  const main = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0];
  const { user, system } = process.cpuUsage();
  return user + system - Number(main) / 1000;
}

async function open(count: number, ruleCount: number, payloads: string[]) {
  const generator = await Generator.open(['bin/haumea.mjs', 'bench', '--role'], 'custom', 'plain', payloads);
  const opened = openHalved(count, 2 / ruleCount);
  const { engine, stream, run, figure } = opened;
  const ddl = 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="bench/custom", CONF_KEY="s", SHARED="true")';
  stream(ddl, { server: `tcp://127.0.0.1:${generator.port}`, qos: 0 });
  const ids = Array.from({ length: ruleCount }, (_, i) => `r${i}`);
  engine.startsAll?.(true);
  for (const [i, id] of ids.entries()) run(id, `SELECT id * ${i} AS x FROM s WHERE temp + ${i} > 0`, [['nop', {}]]);
  engine.startsAll?.(false);
  for (const id of ids) await eventually(`${id} reads`, () => engine.opening(id) !== undefined);
  const planes = () => new Set(ids.map((id) => engine.placement?.(id)?.plane));
  await eventually('the division', () => planes().size === count, 60_000);
  opened.settle();
  for (const id of ids) await eventually(`${id} is back`, () => engine.opening(id) !== undefined);
  const watched = [...planes()].map((plane) => ids.find((id) => engine.placement?.(id)?.plane === plane)!);
  const taken = (id: string) => figure(id, 'sourceRecordsInTotal', (value) => value >= 0);
  const send = async (messageCount: number) => {
    const before = await Promise.all(watched.map(taken));
    const cpu = planesUs();
    await generator.send({ count: messageCount, rate: Number(rate), perMessage: false, firstIndex: 0 });
    for (const [i, id] of watched.entries()) {
      await figure(id, 'sourceRecordsInTotal', (value) => value >= before[i]! + messageCount);
    }
    return (planesUs() - cpu) / messageCount;
  };
  const close = async () => {
    await opened.close();
    await generator.close();
  };
  return { send, close };
}

console.log('rules  bytes  one plane, µs a message  two  ratio');
for (const ruleCount of numbers(rules)) {
  for (const size of numbers(sizes)) {
    const payloads = Array.from({ length: 1000 }, (_, id) => {
      const text = `{"id":${id},"device":"d${id}","temp":${20 + (id % 50) / 10},"note":""}`;
      return text.replace('""', `"${'x'.repeat(Math.max(0, size - text.length))}"`);
    });
    // With many rules a plane takes less.
    const count = Math.min(Number(messages), Math.round(1e7 / ruleCount));
    const both = [await open(1, ruleCount, payloads), await open(2, ruleCount, payloads)];
    const figures: number[][] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      for (const [i, { send }] of both.entries()) {
        const us = await send(count);
        if (round > 0) figures[i]!.push(us);
      }
    }
    const [one, two] = figures.map((of) => of.sort((a, b) => a - b)[rounds >> 1]!) as [number, number];
    console.log(`${ruleCount}  ${size}  ${one.toFixed(2)}  ${two.toFixed(2)}  ${(two / one).toFixed(2)}`);
    for (const { close } of both) await close();
  }
}
process.exit(0);
