/** Rows for TDengine 3, at a server that reads its statements and keeps nothing: there is none to be had. */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Row, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 100_000;
/** Rows of a statement of the plain program, as many as the sink has in one. */
const atOnce = 1000;
const done = '{"code":0,"column_meta":[["affected_rows","INT",4]],"data":[[1]],"rows":1}';

/** The rows of a statement; names of columns stand before each. */
function rowsOf(statement: string): Row[] {
  return [...statement.matchAll(/\(([^()]*)\) values \(([^()]*)\)/g)].map(([, names, values]) => {
    const cells = values!.split(',').map((cell) => (cell.startsWith('"') ? cell.slice(1, -1) : Number(cell)));
    return Object.fromEntries(names!.split(',').map((name, i) => [name, cells[i]]));
  });
}

export const lines: readonly Line[] = [
  {
    name: 'tdengine3 out',
    connectors: ['tdengine3'],
    rows,
    select: (stream) => `SELECT id, device, temperature, id + 1700000000000 AS ts FROM ${stream}`,
    open: async () => {
      const arrivals = new Arrivals(rows);
      const server = createServer((incoming, response) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('end', () => {
          arrivals.takeRows(rowsOf(Buffer.concat(parts).toString()));
          response.end(done);
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const time = { provideTs: true, tsFieldName: 'ts' };
      return {
        address: `http://127.0.0.1:${port}/rest/sql/plant`,
        sink: { type: 'tdengine3', props: { host: '127.0.0.1', port, database: 'plant', table: 'readings', ...time } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: async () => {
          server.closeAllConnections();
          server.close();
        },
      };
    },
    plain: async ({ address, file, ready }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      void ready();
      let parts: string[] = [];
      const send = async () => {
        const body = `INSERT INTO${parts.join('')}`;
        parts = [];
        const headers = { 'content-length': Buffer.byteLength(body) };
        const sent = request(address, { method: 'POST', agent, headers });
        sent.end(body);
        const [response] = await once(sent, 'response');
        response.resume();
        await once(response, 'end');
      };
      await eachLine(file, (text) => {
        const { id, device, temperature } = JSON.parse(work(text)) as Row;
        const values = [1_700_000_000_000 + (id as number), id, JSON.stringify(device), temperature];
        parts.push(` readings (ts,id,device,temperature) values (${values.join(',')})`);
        return parts.length < atOnce ? undefined : send();
      });
      if (parts.length > 0) await send();
    },
  },
];
