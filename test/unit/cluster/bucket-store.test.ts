/** Changes of many definitions, of which NATS does not take all. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { type BucketEntry, type BucketWrite, maxBatch, WriteFailure } from '../../../host/cluster/bucket.js';
import { BucketStore, type BucketStoreOptions } from '../../../host/cluster/bucket-store.js';
import { Seal } from '../../../host/cluster/seal.js';
import type { StoreChange } from '../../../host/meta/store.js';

/** A bucket that tells of each entry, and takes batches until one has an entry that it refuses. */
function bucket(refuses: string) {
  const entries = new Map<string, { revision: number; text: string | undefined }>();
  let last = 0;
  let take = (_entry: BucketEntry) => {};
  const put = ({ key, text }: Pick<BucketWrite, 'key' | 'text'>) => {
    entries.set(key, { revision: ++last, text });
    take({ key, revision: last, text });
    return last;
  };
  const made = {
    watch: async (given: typeof take) => {
      take = given;
    },
    writeAll: async (writes: readonly BucketWrite[]) => {
      const first = last + 1;
      if (writes.some(({ key }) => key.endsWith(refuses))) {
        // Another node changes what this one has written just before.
        put({ key: 'definition.rule.n0', text: '"of another node"' });
        throw new WriteFailure('refused', 'full');
      }
      for (const write of writes) put(write);
      return first;
    },
    writeEach: async (writes: readonly BucketWrite[]) =>
      writes.map((write) =>
        (entries.get(write.key)?.revision ?? 0) === write.after ? put(write) : new WriteFailure('changed', 'revision'),
      ),
  };
  return { entries, made };
}

test('what is taken back is not what another node has written since', async () => {
  const { entries, made } = bucket(`n${maxBatch}`);
  const local = { batch: async () => {} };
  const options = { bucket: made, local, seal: new Seal(undefined), holdsSecret: () => false, log: silent };
  const store = await BucketStore.open(options as unknown as BucketStoreOptions);
  const changes = Array.from({ length: maxBatch + 1 }, (_, i): StoreChange => ['rule', `n${i}`, '"new"']);
  const reason = await store.batch(changes).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.match(reason, 'the change could not be saved: full');
  assert.is(entries.get('definition.rule.n0')?.text, '"of another node"');
  assert.is(store.get('rule', 'n0'), '"of another node"');
  assert.is(entries.get('definition.rule.n1')?.text, undefined);
  assert.is(store.get('rule', 'n1'), undefined);
});

test.run();
