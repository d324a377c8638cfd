/** The plain program of a line, in a process of its own; started by run.ts. */
import { linesIn } from './lines/index.js';

const [home = '', name, address = '', rows = '0', file = ''] = process.argv.slice(2);
const line = (await linesIn(home)).find((one) => one.name === name);
if (line === undefined) throw new Error(`no line ${name}`);

const now = () => ({ cpu: process.cpuUsage(), at: performance.now() });
let begin = now();
await line.plain({
  address,
  rows: Number(rows),
  file,
  ready: () => {
    const goes = new Promise<void>((resolve) => {
      process.once('message', () => {
        begin = now();
        resolve();
      });
    });
    begin = now();
    process.send?.({ kind: 'ready' });
    return goes;
  },
});
const { user, system } = process.cpuUsage(begin.cpu);
const done = { kind: 'done', cpuUs: user + system, ms: performance.now() - begin.at };
process.send?.(done, () => process.exit(0));
