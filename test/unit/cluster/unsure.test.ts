/** Writes to NATS of which nobody knows whether they were taken: what they name stays. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { type BucketWrite, WriteFailure } from '../../../host/cluster/bucket.js';
import { SharedUploads, type SharedUploadsOptions } from '../../../host/cluster/files/shared-uploads.js';
import { RuleStates, type RuleStatesOptions } from '../../../host/cluster/state/rule-states.js';
import { storedErrors } from '../../../host/meta/errors.js';
import { PackageFolders } from '../../../host/meta/packages/packages.js';
import type { Store } from '../../../host/meta/store.js';
import { install } from '../../../host/meta/transfer/exportable.js';
import { temporaryFolder } from '../../support/harness.js';

/** NATS that answers writes with a failure, or takes them, and no question after that. */
function nats(failure: WriteFailure | undefined) {
  const objects: string[] = [];
  const removed: string[] = [];
  const write = async (writes: readonly BucketWrite[]) => {
    if (failure !== undefined) throw failure;
    return writes.length;
  };
  const put = (object: string) => {
    objects.push(object);
    return { object, bytes: 100_000, digest: '' };
  };
  return {
    objects,
    removed,
    options: {
      bucket: {
        write: (one: BucketWrite) => write([one]),
        writeAll: write,
        watch: async () => {},
        read: async () => {
          throw new WriteFailure('away', 'no leader');
        },
      },
      objects: {
        put: async () => put(`r.${objects.length}`),
        write: async (object: string) => put(object),
        remove: async (names: readonly string[]) => void removed.push(...names),
      },
      log: silent,
    },
  };
}

async function keep(failure: WriteFailure) {
  const { options, objects, removed } = nats(failure);
  const folder = temporaryFolder();
  const name = '000000000001.checkpoint';
  writeFileSync(join(folder, name), Buffer.alloc(100_000));
  const leaseOf = () => ({ node: 'a', revision: 1 });
  const states = new RuleStates({ ...options, leaseOf } as unknown as RuleStatesOptions);
  const state = { rule: 'r', folder, files: [{ name, file: name }] };
  const reason = await states.carryOut({ what: 'keep', states: [state] }).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.match(reason, 'the state of rule r is not in NATS');
  return { objects, removed };
}

test('objects of a checkpoint are removed only where NATS surely does not name them', async () => {
  assert.equal(await keep(new WriteFailure('unsure', 'timeout')), { objects: ['r.0'], removed: [] });
  assert.equal(await keep(new WriteFailure('refused', 'full')), { objects: ['r.0'], removed: ['r.0'] });
});

test('so are those of an upload', async () => {
  for (const kind of ['unsure', 'refused'] as const) {
    const { options, objects, removed } = nats(new WriteFailure(kind, 'failed'));
    const key = Buffer.alloc(32);
    const shared = { ...options, key, data: temporaryFolder() } as unknown as SharedUploadsOptions;
    const uploads = await SharedUploads.open(shared);
    const reason = await uploads.put('a', Buffer.from('x')).catch((error: Error) => error.message);
    assert.match(String(reason), 'upload a could not be brought to NATS');
    assert.equal(removed, kind === 'unsure' ? [] : objects);
    assert.is(objects.length, 1);
  }
});

test('files of a schema stay while nobody knows whether its definition was saved', async () => {
  const there = async (failure: Error) => {
    const root = join(temporaryFolder(), 'schemas');
    const shared: string[] = [];
    const packages = {
      put: async (place: string) => void shared.push(place),
      remove: async (place: string) => void shared.splice(shared.indexOf(place), 1),
      hasCome: () => false,
    };
    const folders = new PackageFolders(root, { packages, root: 'schemas' });
    const folder = await folders.add('s', async (path) => {
      mkdirSync(path);
      writeFileSync(join(path, 's.proto'), '');
    });
    const store = { batch: () => Promise.reject(failure) } as unknown as Store;
    const discard = (reason: unknown) => folders.takeBack(folder, reason);
    const thrown = await install(store, { changes: [], discard }).catch((error: Error) => error);
    assert.is(thrown, failure);
    return [existsSync(folders.path(folder)), shared.length];
  };
  assert.equal(await there(storedErrors.unsure('timeout')), [true, 1]);
  assert.equal(await there(storedErrors.notSaved('refused')), [false, 0]);
});

test.run();
