/** A server with a thousand plugins. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { wasmModule } from '../../support/rest/archives.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

const path = '/plugins/wasm';

test('with 1,000 plugins each is found by its function, and the next is taken', async () => {
  const many = await startControlPlane();
  try {
    for (let from = 0; from < 1000; from += 50) {
      const requests = Array.from({ length: 50 }, (_, k) => {
        const i = from + k;
        return many.request('POST', path, { name: `p${i}`, bytecode: wasmModule(`f${i}`) });
      });
      for (const made of await Promise.all(requests)) assert.is(made.status, 201, made.text);
    }
    assert.is((await many.request('GET', '/plugins/udfs')).json.length, 1000);
    assert.equal((await many.request('GET', '/plugins/udfs/F577')).json, { name: 'f577', plugin: 'p577' });
    const again = await many.request('POST', path, { name: 'again', bytecode: wasmModule('F577') });
    assert.match(again.json.message, /F577 is taken by wasm plugin p577/);
    await many.request('DELETE', `${path}/p577`);
    assert.is((await many.request('POST', path, { name: 'again', bytecode: wasmModule('F577') })).status, 201);
  } finally {
    await many.close();
  }
});

test.run();
