/**
 * Lines of a file through one rule to a topic in memory, and from there through another. The program reads the lines,
 * and passes objects through an event emitter.
 */
import { EventEmitter } from 'node:events';
import type { Line } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 1_000_000;

export const lines: readonly Line[] = [
  {
    name: 'memory',
    connectors: ['memory'],
    rows,
    open: async () => ({
      address: '',
      source: { type: 'memory', dataSource: 'rows', props: {} },
      feeder: { type: 'memory', props: { topic: 'rows' } },
      close: async () => {},
    }),
    plain: async ({ file, ready }) => {
      const topic = new EventEmitter();
      let bytes = 0;
      topic.on('row', ({ id, device, temperature }) => {
        bytes += JSON.stringify({ id, device, temperature }).length;
      });
      void ready();
      await eachLine(file, (text) => void topic.emit('row', JSON.parse(text)));
      if (bytes === 0) throw new Error('nothing came through');
    },
  },
];
