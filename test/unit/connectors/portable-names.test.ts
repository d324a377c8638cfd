/** Sockets of sources and sinks of portable plugins: their paths hold the names of rules and streams. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ackPath, dataPath, partMeta } from '../../../host/connectors/portable/part.js';

test('no name leads out of the folder of the sockets', () => {
  for (const name of ['plain-1_a', '../../srv/x', 'a/b', '日志', 'x'.repeat(500), '..', '']) {
    const meta = partMeta(name);
    for (const path of [dataPath(meta), ackPath(meta)]) {
      assert.match(path, /^\/tmp\/[\w-]+\.ipc$/);
      assert.ok(Buffer.byteLength(path) <= 103, path);
    }
  }
  assert.is(partMeta('plain-1_a').ruleId, 'plain-1_a');
});

test.run();
