/** Places of files that definitions from NATS name. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { placeOf } from '../../../host/cluster/files/places.js';
import { kinds } from '../../../host/meta/kinds.js';

test('a definition leads to a folder of its kind, and nowhere else', () => {
  const of = (key: string, folder: unknown) => placeOf(kinds.plugin, key, JSON.stringify({ folder }));
  assert.is(of('portables/p', 'p@0123abcd'), 'plugins/portable/p@0123abcd');
  assert.is(of('wasm/w', 'w@0123abcd'), 'plugins/wasm/w@0123abcd');
  for (const key of ['../p', './p', '/p', '..\\uploads/p']) assert.is(of(key, 'p@0123abcd'), undefined);
  for (const folder of ['../p@0123abcd', 'a/p@0123abcd', '.p@0123abcd', 'p', 7]) {
    assert.is(of('wasm/w', folder), undefined);
  }
});

test.run();
