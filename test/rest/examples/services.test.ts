/** The example of an external service, with the statement of its page, against servers of each kind. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { fileUri } from '../../support/rest/given-files.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { writeZip } from '../../support/rest/zip-writer.js';
import { hasGrpc, startGrpc } from '../../support/services/grpc-server.js';
import { startRpc } from '../../support/services/rpc-server.js';

const folder = fileURLToPath(new URL('../../../examples/services/', import.meta.url));
const textOf = (path: string) => readFileSync(join(folder, path), 'utf8');

if (await hasGrpc('the example of services')) {
  test('the example answers a rule over HTTP, gRPC and MessagePack-RPC', async () => {
    const asked: string[] = [];
    const web = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      asked.push(`${request.method} ${request.url} ${Buffer.concat(chunks)}${request.headers['x-shop'] ?? ''}`);
      const body = request.url === '/news' ? { title: 'new tea' } : { price: 2.5, currencyCode: 'EUR' };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => web.once('listening', resolve));
    // What a server of the test imports it has in the same text.
    const own =
      textOf('shop/schemas/item.proto') +
      textOf('shop/schemas/stock.proto').replace(/^syntax.*|^package.*|^import "item.*/gm, '');
    const stock = await startGrpc(own, {
      InStock: ({ request }) => ({ value: request.item_name === 'tea' }),
    });
    const shelves = await startRpc({ shelfOf: (item) => String(item).length });
    const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
    try {
      const port = String((web.address() as AddressInfo).port);
      const description = textOf('shop/shop.json')
        .replaceAll('8090', port)
        .replace('50051', String(stock.port))
        .replace('9000', String(shelves.port));
      const schemas = readdirSync(join(folder, 'shop/schemas')).map((file) => ({
        name: `schemas/${file}`,
        content: textOf(`shop/schemas/${file}`),
      }));
      const zip = writeZip([{ name: 'shop.json', content: description }, ...schemas]);
      const made = await server.request('POST', '/services', { name: 'shop', file: fileUri('shop.zip', zip) });
      assert.is(made.status, 201, made.text);
      const sql = /```sql\n(.*?)```/s.exec(textOf('README.md'))?.[1] ?? '';
      const rows = await new RowsThrough(server).results(sql.replace(/\s+/g, ' ').replace('FROM orders', 'FROM s'), [
        { item: 'tea', n: 2 },
      ]);
      assert.equal(rows, [{ item: 'tea', total: 5, available: true, shelf: 3, news: 'new tea' }]);
      assert.equal(asked.sort(), [
        'GET /api/items/tea/price?item_count=1 main',
        'GET /news ',
        'POST /api/priceOf {"itemName":"tea","itemCount":2}main',
      ]);
    } finally {
      await server.stop();
      await shelves.kill();
      stock.kill();
      web.close();
      web.closeAllConnections();
    }
  });
}

test.run();
