import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { LogOptions } from '../../../host/base/log/log.js';
import { LogTree } from '../../../host/base/log/log-tree.js';
import { openLog } from '../../support/engine/open-log.js';

function open(change: Partial<LogOptions> = {}) {
  const opened = openLog(change);
  const tree = new LogTree(opened.log, opened.folder);
  const close = () => {
    tree.close();
    opened.log.close();
  };
  return { ...opened, tree, close };
}

/** Files of a folder that this process has open. */
function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(`${folder}/`) ? [target] : [];
    } catch {
      // The one that reading the folder had open.
      return [];
    }
  });
}

test('a part with a file writes there only, at the level of the main log', () => {
  const { log, tree, text, close } = open();
  const part = tree.branch({ isDebug: false, fileName: 'part.log' });
  part.debug('hidden');
  part.warn('seen', { rule: 'r' });
  log.info('main');
  part.close();
  close();
  assert.is(text('part.log'), 'level=warn msg=seen rule=r\n');
  assert.is(text(), 'level=info msg=main\n');
});

test('a part at debug level says more than the others', () => {
  const { log, tree, text, close } = open();
  const part = tree.branch({ isDebug: true, fileName: '' });
  part.debug('detail');
  log.debug('hidden');
  part.close();
  close();
  assert.is(text(), 'level=debug msg=detail\n');
});

test('two parts with the same file share it, and the last to go closes it', () => {
  const { log, tree, folder, text, close } = open();
  const one = tree.branch({ isDebug: false, fileName: 'both.log' });
  const two = tree.branch({ isDebug: true, fileName: 'both.log' });
  one.error('first');
  one.close();
  two.debug('second');
  two.error('third');
  assert.is(openFiles(folder).length, 1);
  two.close();
  two.close();
  assert.equal(openFiles(folder), []);
  assert.is(text('both.log'), 'level=error msg=first\nlevel=debug msg=second\nlevel=error msg=third\n');
  two.error('late');
  log.flush();
  assert.is(text(), 'level=error msg=late\n');
  close();
});

test('a file that cannot be written leaves its lines to the main log', () => {
  const { log, tree, folder, text, close } = open();
  mkdirSync(join(folder, 'taken.log'));
  const part = tree.branch({ isDebug: false, fileName: 'taken.log' });
  part.error('first');
  part.error('second');
  log.flush();
  const lines = text().split('\n');
  assert.match(lines[0] ?? '', /log file taken\.log can't be written, its lines come here: EISDIR/);
  assert.equal(lines.slice(1), ['level=error msg=first', 'level=error msg=second', '']);
  part.close();
  close();
});

test('files rotate like the main log and leave files of other parts alone', () => {
  const { tree, folder, close } = open({ rotateSizeBytes: 10, rotateCount: 1 });
  const part = tree.branch({ isDebug: false, fileName: 'a' });
  const other = tree.branch({ isDebug: false, fileName: 'a.b' });
  other.error('the log of another part');
  for (let i = 0; i < 5; i++) part.error(`line ${i}`);
  part.close();
  other.close();
  close();
  const names = readdirSync(folder).sort();
  assert.is(names.filter((name) => /^a\.\d{4}-/.test(name)).length, 1);
  assert.ok(names.includes('a'));
  assert.ok(names.includes('a.b'));
});

test('the number of open files is bounded, and no line is lost', () => {
  const { tree, folder, text, close } = open();
  const parts = Array.from({ length: 100 }, (_, i) => tree.branch({ isDebug: false, fileName: `part-${i}` }));
  for (const round of [1, 2]) for (const part of parts) part.error(`round ${round}`);
  assert.ok(openFiles(folder).length <= 64);
  for (const part of parts) part.close();
  for (let i = 0; i < parts.length; i++) {
    assert.is(text(`part-${i}`), 'level=error msg="round 1"\nlevel=error msg="round 2"\n');
  }
  assert.equal(openFiles(folder), []);
  close();
});

test.run();
