/** Rows that the engine makes itself, and what it keeps of them in its log and in memory. */
import { createWriteStream, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Line, message, type Row, reading, work, worked } from '../../line.js';
import { eachLine, endOf, writeTo } from '../../lines-of-file.js';

const rows = 300_000;
const kinds = ['person', 'auction', 'bid'] as const;
/** Rows that the simulator has. */
const given = 1000;

function generated(
  name: string,
  props: Readonly<Record<string, unknown>>,
  more: Pick<Line, 'isRight' | 'select'>,
): Line {
  return {
    name: `${name} in`,
    connectors: [name],
    rows,
    isEndless: true,
    ...more,
    open: async () => ({ address: '', source: { type: name, dataSource: '', props }, close: async () => {} }),
    plain: async ({ ready }) => {
      void ready();
      makers[name]!();
    },
  };
}

/** The plain programs: each makes rows of the same kind. */
const makers: Readonly<Record<string, () => void>> = {
  random: () => {
    for (let i = 0; i < rows; i++) {
      const draw = () => Math.floor(Math.random() * 100);
      work(JSON.stringify({ id: draw(), device: draw(), temperature: draw() }));
    }
  },
  simulator: () => {
    const texts = Array.from({ length: given }, (_, id) => message(id));
    for (let i = 0; i < rows; i++) work(texts[i % given]!);
  },
  nexmark: () => {
    const extra = 'x'.repeat(80);
    for (let i = 0; i < rows; i++) {
      const datetime = new Date().toISOString();
      const event = { kind: kinds[i % 3]!, id: i, name: `name ${i}`, price: Math.random() * 1000, datetime, extra };
      const text = JSON.stringify(event);
      const row = JSON.parse(text) as Row;
      JSON.stringify({ id: row.id, extra: row.extra, datetime: row.datetime });
    }
  },
};

const isDrawn = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 100;

export const lines: readonly Line[] = [
  generated(
    'random',
    { interval: 0, seed: 100, pattern: { id: 0, device: 0, temperature: 0 } },
    { isRight: ({ id, device, temperature }) => isDrawn(id) && isDrawn(device) && isDrawn(temperature) },
  ),
  generated('simulator', { interval: 0, data: Array.from({ length: given }, (_, id) => reading(id)) }, {}),
  generated(
    'nexmark',
    { qps: 1_000_000, bufferSize: 100_000 },
    {
      select: (stream) => `SELECT id, extra, datetime FROM ${stream}`,
      isRight: ({ extra, datetime }) => typeof extra === 'string' && typeof datetime === 'number',
    },
  ),
  {
    name: 'log out',
    connectors: ['log'],
    rows,
    open: async (folder) => {
      const logs = join(folder, 'data/log');
      let before = 0;
      const count = async () => {
        let found = 0;
        for (const name of existsSync(logs) ? readdirSync(logs) : []) {
          await eachLine(join(logs, name), (text) => {
            if (text.includes('sink result for rule')) found++;
          });
        }
        const plain = join(folder, 'plain.log');
        if (existsSync(plain)) await eachLine(plain, () => void found++);
        return found;
      };
      return {
        address: join(folder, 'plain.log'),
        sink: { type: 'log', props: {} },
        begin: async () => {
          before = await count();
        },
        written: async () => (await count()) - before,
        check: () => {},
        close: async () => {},
      };
    },
    plain: async ({ address, file, ready }) => {
      void ready();
      const out = createWriteStream(address, { flags: 'a' });
      await eachLine(file, (text) => writeTo(out, `${new Date().toISOString()} info ${work(text)}\n`));
      await endOf(out);
    },
  },
  {
    name: 'logToMemory out',
    connectors: ['logToMemory'],
    rows,
    // What is kept is seen by nobody outside: the count is that of the rule.
    open: async () => ({
      address: '',
      sink: { type: 'logToMemory', props: {} },
      check: () => {},
      close: async () => {},
    }),
    plain: async ({ file, ready }) => {
      void ready();
      const kept: string[] = [];
      await eachLine(file, (text) => {
        kept.push(work(text));
        if (kept.length > 1000) kept.shift();
      });
      worked(JSON.parse(kept[0]!) as Row);
    },
  },
];
