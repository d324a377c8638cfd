/** Faults of a disk that a sink writes lines to. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { announceSkip, temporaryFolder } from '../../../support/harness.js';
import { fillDisk, smallDisk } from '../../../support/small-disk.js';

const disk = smallDisk(join(temporaryFolder(), 'small'), '256m');
test.after(() => disk?.unmount());
const noDisk = disk === undefined ? { full: 'no small disk can be mounted here' } : undefined;
if (noDisk !== undefined) announceSkip('full disks of sinks', noDisk.full);

const lacks = {
  absence: 'a folder is there or the rule is refused',
  kill: 'a disk has no process',
  refusal: 'a file has no login',
  tls: 'a file is no connection',
};

sinkFaults(
  test,
  'file',
  async () => {
    const folder = disk?.path ?? temporaryFolder();
    const none = async () => {};
    return {
      props: { path: join(folder, 'rows.lines'), fileType: 'lines' },
      arrived: () => idsOf(linesIn(folder)),
      start: none,
      kill: none,
      pause: () => {},
      resume: () => {},
      close: none,
      ...(disk && {
        full: {
          fill: () => fillDisk(folder),
          free: () => rmSync(join(folder, 'filler')),
          reason: /ENOSPC|no space/i,
        },
      }),
    };
  },
  {
    lacks: {
      ...lacks,
      ...noDisk,
      hang: 'a disk that hangs stops its whole process',
      rejects: 'a disk takes any bytes',
    },
  },
);

function linesIn(folder: string): string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.lines'));
  return files.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1));
}

test.run();
