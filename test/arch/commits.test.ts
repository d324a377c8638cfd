/** Subjects of the newest commits are short and name their area; a clone without history has fewer to look at. */
import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../support/arch/sources.js';

const longest = 72;
const newest = 10;

/** Subjects of the newest commits; none where the sources come without their repository. */
function subjects(): string[] {
  const { status, stdout } = spawnSync('git', ['log', '--no-merges', `-${newest}`, '--format=%s'], {
    cwd: root,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.split('\n').filter((subject) => subject !== '') : [];
}

test('subjects of commits are `area: what changes` in at most 72 characters', () => {
  const wrong = subjects().filter((subject) => subject.length > longest || !/^[\w ,./-]+: \S/.test(subject));
  assert.equal(wrong, []);
});

test.run();
